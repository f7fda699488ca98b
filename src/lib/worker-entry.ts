/** Root of the repository when running from sources; unused when running compiled. */
const TREE = new URL("../../", import.meta.url);

/**
 * Path of the compiled file for a worker thread, relative to the calling module and without extension: `new
 * Worker(workerEntry(import.meta.url, "./streamer-worker"))`.
 *
 * A compiled caller (`dist/src/x/a.js`) gets its neighbour (`dist/src/x/b.js`). A caller run from TypeScript sources
 * (`src/x/a.ts`, as in tests) gets the same neighbour in `dist`, since Node cannot run TypeScript in a worker; the test
 * set-up keeps `dist` current.
 */
export function workerEntry(metaUrl: string, name: string): URL {
  if (!metaUrl.endsWith(".ts")) return new URL(`${name}.js`, metaUrl);
  const source = new URL(`${name}.js`, metaUrl).href;
  return new URL(`dist/${source.slice(TREE.href.length)}`, TREE);
}
