import { CallerError } from "../lib/errors.ts";
import areasOfInterest from "../resources/areas/areas-of-interest.ts";
import callmgrClusters from "../resources/callmgr/callmgr-clusters.ts";
import collaborationGroups from "../resources/collaboration/collaboration-groups.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { StoreReader } from "../store/store.ts";

/** Resources that plugins may read; each has few rows. */
const READABLE_RESOURCES: readonly AnyResource[] = [callmgrClusters, collaborationGroups, areasOfInterest];

/**
 * Rows of a resource that the plugin's manifest grants, at most 1,000, without secret, internal and computed fields.
 * Throws CallerError.
 */
export function listResourceRows(
  name: unknown,
  { store, grants }: { store: StoreReader; grants: readonly string[] },
): Record<string, unknown>[] {
  const resource = READABLE_RESOURCES.find((each) => each.name === name);
  if (!resource || !grants.includes(resource.name))
    throw new CallerError("invalid-value", `resources.list: plugin.json does not grant ${String(name)}`);
  const plain = Object.entries(resource.fields).filter(
    ([, { kind }]) => !["secret", "internal", "computed"].includes(kind),
  );
  return store.find(resource, {}).map((row) => {
    const values = row as unknown as Readonly<Record<string, unknown>>;
    return { id: row.id, ...Object.fromEntries(plain.map(([field]) => [field, values[field] ?? null])) };
  });
}
