import { setUp } from "./setup.mjs";

/**
 * Brings dist/ up to date before any test: those that start workers or processes run the compiled product. The
 * compiler writes its output in spite of faults, so tests of other rooms run on a tree that is half-way through a change.
 */
export default function buildFirst(): void {
  if (setUp()) console.warn("dist/ was built in spite of faults in the tree; `npm run check` counts them.");
}
