import { library } from '../../tsup.base.ts';

// The page's files are found beside the code, by import.meta.url; `shims` gives CommonJS one.
export default library({ entry: ['src/index.ts'], shims: true });
