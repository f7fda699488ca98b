import type { Catalogue } from "../../schema/catalogue.ts";
import { type ReplicatedTypes, readReplicatedTypes } from "./replicated-types.ts";

/**
 * Alarms have the same ids on every appliance; their events are replicated.
 * @source docs/decisions/0300-sync-limits.md
 */
const LOCAL_TYPES: ReadonlySet<string> = new Set(["alarms"]);

/** The product's resources without those that are local to each side. */
export function productReplicatedTypes(catalogue: Catalogue): ReplicatedTypes {
  const types = readReplicatedTypes(catalogue);
  return {
    ...types,
    cloudOwned: types.cloudOwned.filter((type) => !LOCAL_TYPES.has(type)),
    siteState: types.siteState.filter((type) => !LOCAL_TYPES.has(type)),
    replicationClass: (type) => (LOCAL_TYPES.has(type) ? "local" : types.replicationClass(type)),
  };
}
