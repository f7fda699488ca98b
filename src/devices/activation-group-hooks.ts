import { requiredValue } from "../lib/errors.ts";
import type activationGroups from "../resources/devices/activation-groups.ts";
import type { ResourceHooks } from "../store/store.ts";
import { loadNamedDevices } from "./device-group-hooks.ts";
import type { GroupCounts } from "./group-counts.ts";
import { parseGroupDefinition } from "./group-definition.ts";

export interface ActivationGroupHookDeps {
  counts: GroupCounts;
  /** True if an appliance can activate devices now. */
  isReachable(endpointId: string): boolean;
}

/** Validates and normalizes the filters of activation groups like those of device groups; requires at least one appliance. */
export function activationGroupHooks({
  counts,
  isReachable,
}: ActivationGroupHookDeps): ResourceHooks<typeof activationGroups> {
  return {
    beforeWrite({ after }) {
      if (!after) return;
      if (after.endpointIds.length === 0) throw requiredValue("endpointIds");
      after.filters = parseGroupDefinition({ ...after, baseDeviceGroupIds: [] }).filters;
    },
    present(rows, context) {
      const named = loadNamedDevices(rows, context);
      const numbers = context.query.includeDeviceCounts === true ? counts.of(rows.map((row) => row.id)) : null;
      const endpoints = new Map(
        context.reader
          .all<{ id: string; name: string | null }>(
            "SELECT id, name FROM endpoints WHERE id IN (SELECT value FROM json_each(?))",
            JSON.stringify(rows.flatMap((row) => row.endpointIds)),
          )
          .map((line) => [line.id, line]),
      );
      return rows.map((row) => ({
        additions: named(row.additionIds),
        exclusions: named(row.exclusionIds),
        endpoints: row.endpointIds.flatMap((id) => {
          const endpoint = endpoints.get(id);
          return endpoint ? [{ ...endpoint, reachable: isReachable(id) }] : [];
        }),
        ...(numbers?.get(row.id) ?? {}),
      }));
    },
  };
}
