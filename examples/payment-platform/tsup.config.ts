import { defineConfig } from 'tsup';

/** An application, not a library: one ESM file that plain Node runs; its packages stay outside. */
export default defineConfig({ entry: ['src/main.ts'], format: ['esm'], target: 'node20.18', clean: true });
