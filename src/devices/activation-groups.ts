import type activationGroups from "../resources/devices/activation-groups.ts";
import type { RowOf } from "../schema/resource.ts";
import type { Reader } from "../store/store.ts";
import type { FilterableDevice } from "./device-filter.ts";
import { type CompiledGroup, compileGroups, readGroup } from "./group-definition.ts";
import { type DeviceLine, deviceOf, fromJson } from "./group-scan.ts";

type ActivationGroup = RowOf<typeof activationGroups>;

/** A group ready to be asked, in the order of priority. */
interface Ranked extends CompiledGroup {
  id: string;
}

interface GroupLine {
  id: string;
  filter_type: string | null;
  logical_expression: string | null;
  filters: string | null;
  addition_ids: string | null;
  exclusion_ids: string | null;
}

/** All groups, the one that wins first. @source service-api.md, /v1/activation-groups */
function rankedGroups(reader: Reader): Ranked[] {
  const lines = reader.all<GroupLine>(
    `SELECT id, filter_type, logical_expression, filters, addition_ids, exclusion_ids
     FROM activation_groups ORDER BY priority, pk`,
  );
  const compiled = compileGroups(
    new Map(
      lines.map((line) => [
        line.id,
        readGroup({
          filterType: line.filter_type,
          logicalExpression: line.logical_expression,
          filters: fromJson(line.filters),
          additionIds: fromJson(line.addition_ids),
          exclusionIds: fromJson(line.exclusion_ids),
        }),
      ]),
    ),
  );
  return [...compiled].map(([id, { contains }]) => ({ id, contains }));
}

/** For counting: a device is in the first group that describes it, and in no other. */
export function inActivationGroup(reader: Reader): (device: FilterableDevice) => readonly string[] {
  const groups = rankedGroups(reader);
  return (device) => {
    const group = groups.find((each) => each.contains(device));
    return group ? [group.id] : [];
  };
}

/** Ids of the groups that describe a device, the one that it is in first; empty for an unknown device. */
export function activationGroupsOf(reader: Reader, deviceId: string): string[] {
  const line = reader.one<DeviceLine>(
    "SELECT pk, icop_id, device_identifier, description, type, attributes FROM devices WHERE id = ?",
    deviceId,
  );
  if (!line) return [];
  const device = deviceOf(line);
  return rankedGroups(reader).flatMap(({ id, contains }) => (contains(device) ? [id] : []));
}

/** Who would activate a device now. */
export interface Activation {
  /** The group that the device is in; null when none describes it. */
  activationGroupId: string | null;
  /** The appliance; null when none of the group's can be reached. */
  endpointId: string | null;
  /** Why it is that one, in words. */
  reason: string;
}

/**
 * The first reachable appliance of the group that the device is in. own choice: a device that no group describes is
 * activated by the appliance that serves it. @source decisions.md 11
 */
export function activationOf(
  group: Pick<ActivationGroup, "id" | "name" | "endpointIds"> | null,
  ownEndpointId: string,
  isReachable: (endpointId: string) => boolean,
): Activation {
  if (!group) {
    const reason = "No activation group describes it: the appliance that serves it activates it.";
    return { activationGroupId: null, endpointId: isReachable(ownEndpointId) ? ownEndpointId : null, reason };
  }
  const at = group.endpointIds.findIndex(isReachable);
  const endpointId = group.endpointIds[at] ?? null;
  const reason =
    endpointId === null
      ? `None of the appliances of ${group.name} can be reached.`
      : at === 0
        ? `It is the first appliance of ${group.name}.`
        : `It is the first appliance of ${group.name} that can be reached; ${at} before it can't.`;
  return { activationGroupId: group.id, endpointId, reason };
}
