import type { Catalogue } from "../../schema/catalogue.ts";
import { type ReplicatedTypes, replicatedTypes } from "../replicated-types.ts";

/** Alarms have the same ids on every appliance; what they did is told by their events. own choice */
const EACH_HAS_ITS_OWN: ReadonlySet<string> = new Set(["alarms"]);

/** The product's resources as the link sees them. */
export function productTypes(catalogue: Catalogue): ReplicatedTypes {
  const types = replicatedTypes(catalogue);
  return {
    ...types,
    stateOfSites: types.stateOfSites.filter((type) => !EACH_HAS_ITS_OWN.has(type)),
    classOf: (type) => (EACH_HAS_ITS_OWN.has(type) ? "local" : types.classOf(type)),
  };
}
