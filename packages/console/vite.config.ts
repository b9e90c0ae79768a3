import { defineConfig } from 'vite';

// Built into the package: relative paths, because nobody knows where the console will be mounted; nothing inline, for the CSP.
export default defineConfig({
  root: 'page',
  base: './',
  build: {
    outDir: '../dist/page',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1500,
    target: 'es2022',
    license: { fileName: 'licenses.md' }, // of what is bundled; MIT asks for it
    rolldownOptions: {
      // "use client" speaks to servers that render components; this page has none.
      onLog: (level, log, handle) => (log.code === 'MODULE_LEVEL_DIRECTIVE' ? undefined : handle(level, log)),
    },
  },
});
