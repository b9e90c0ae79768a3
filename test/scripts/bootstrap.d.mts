export const root: string;

export function bootstrap(): Promise<void>;

export function runPnpm(args: readonly string[], options?: { cwd?: string; nextStep?: string }): Promise<string>;
