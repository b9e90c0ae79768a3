// The public surface, name by name: what is not here is internal.
export { CliError, isCliError, type CliErrorCode } from './errors.js';
export { exitCodes } from './exit-codes.js';
export type { Streams } from './output/terminal.js';
export { runCli } from './run-cli.js';
