import { spawn } from 'node:child_process';
import { once } from 'node:events';

const script = `
foreach (glob($argv[1] . '/*') as $file) { $held[] = $handle = fopen($file, 'r+'); flock($handle, LOCK_EX); }
echo 'held';
fgets(STDIN);
`;

/** Does what another PHP process does that is in the middle of handling: locks the records. @returns a function that lets go. */
export async function holdPhpLocks(php, directory) {
  const child = spawn(php, ['-r', script, directory], { stdio: ['pipe', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  await Promise.race([once(child.stdout, 'data'), closed]);
  return async () => {
    child.stdin.end();
    await closed;
  };
}
