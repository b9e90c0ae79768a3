import { defineConfig, type Options } from 'tsup';

/** Every package is built the same way: ESM, CommonJS and types of both, for the oldest Node that the packages support. */
export function library(options: Pick<Options, 'entry' | 'loader' | 'onSuccess' | 'shims'>) {
  return defineConfig({
    format: ['esm', 'cjs'],
    target: 'node20.18',
    dts: true,
    clean: true,
    sourcemap: false,
    splitting: true,
    ...options,
  });
}
