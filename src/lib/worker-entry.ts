/** The repository when running from sources; irrelevant when running compiled. */
const TREE = new URL("../../", import.meta.url);

/**
 * The compiled file to start a worker thread from, named relative to the module that starts it and without extension:
 * `new Worker(workerEntry(import.meta.url, "./streamer-worker"))`.
 *
 * A compiled caller (`dist/src/x/a.js`) gets its neighbour (`dist/src/x/b.js`). A caller run from TypeScript sources
 * (`src/x/a.ts`, as the tests do) gets the same neighbour out of `dist`, since Node cannot run TypeScript in a worker;
 * `dist` must then be built and current, which the test set-up takes care of.
 */
export function workerEntry(metaUrl: string, name: string): URL {
  if (!metaUrl.endsWith(".ts")) return new URL(`${name}.js`, metaUrl);
  const source = new URL(`${name}.js`, metaUrl).href;
  return new URL(`dist/${source.slice(TREE.href.length)}`, TREE);
}
