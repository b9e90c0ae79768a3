export function runQuietly(
  command: string,
  args: readonly string[],
  options?: { cwd?: string; env?: Readonly<Record<string, string>>; nextStep?: string },
): Promise<string>;
