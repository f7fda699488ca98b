import { requiredValue } from "../base/errors.ts";
import type activationGroups from "../resources/devices/activation-groups.ts";
import type { Behaviour } from "../store/store.ts";
import { namedDevices } from "./group-behaviour.ts";
import type { GroupCounts } from "./group-counts.ts";
import { readGroup } from "./group-definition.ts";

/** What the rules of activation groups need. */
export interface ActivationNeeds {
  counts: GroupCounts;
  /** Whether an appliance could activate devices now. */
  isReachable(endpointId: string): boolean;
}

/** Activation groups name an appliance at least; their rules are checked and kept as those of device groups. */
export function activationGroupBehaviour({ counts, isReachable }: ActivationNeeds): Behaviour<typeof activationGroups> {
  return {
    beforeWrite({ after }) {
      if (!after) return;
      if (after.endpointIds.length === 0) throw requiredValue("endpointIds");
      after.filters = readGroup({ ...after, baseDeviceGroupIds: [] }).filters;
    },
    present(rows, context) {
      const named = namedDevices(rows, context);
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
