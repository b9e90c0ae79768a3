#!/usr/bin/env node
import { exitCodes } from './exit-codes.js';
import { runCli } from './run-cli.js';

/** What is left open after a command has ended is not waited for longer than this. */
const lingerMs = 2_000;

void runCli(process.argv.slice(2), process).then((code) => {
  // Not process.exit(): it would cut what a pipe has not taken yet. The loop ends by itself when nothing is open.
  process.exitCode = code;
  setTimeout(() => process.exit(code === exitCodes.fine ? exitCodes.forced : code), lingerMs).unref();
});
