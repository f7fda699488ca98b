import type { Catalogue } from "../../schema/catalogue.ts";
import { type ReplicatedTypes, readReplicatedTypes } from "./replicated-types.ts";

/** Alarms have the same ids on every appliance; what they did is told by their events. own choice */
const LOCAL_TYPES: ReadonlySet<string> = new Set(["alarms"]);

/** The product's resources as the link sees them. */
export function productReplicatedTypes(catalogue: Catalogue): ReplicatedTypes {
  const types = readReplicatedTypes(catalogue);
  return {
    ...types,
    siteState: types.siteState.filter((type) => !LOCAL_TYPES.has(type)),
    replicationClass: (type) => (LOCAL_TYPES.has(type) ? "local" : types.replicationClass(type)),
  };
}
