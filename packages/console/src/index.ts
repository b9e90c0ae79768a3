// The public surface, name by name: what is not here is internal.
export { createConsole, type ConsoleHandler } from './create-console.js';
export { ConfigurationError, ConsoleError, isConsoleError } from './errors.js';
export type { Access, Authorize, ConsoleOptions, Role } from './options.js';
