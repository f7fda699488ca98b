import { setUp } from "./setup.mjs";

/**
 * Brings dist/ up to date before any test: those that start workers or processes run the built product.
 */
export default function buildFirst(): void {
  if (setUp()) console.warn("dist/ is not up to date: there are faults in the tree.");
}
