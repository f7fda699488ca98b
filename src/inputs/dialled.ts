import deviceGroups from "../resources/devices/device-groups.ts";
import type dialcastDialingConfigurations from "../resources/inputs/dialcast-dialing-configurations.ts";
import distributionLists from "../resources/lists/distribution-lists.ts";
import messageTemplates from "../resources/messages/message-templates.ts";
import type { AnyResource, RowOf } from "../schema/resource.ts";
import type { Reader } from "../store/store.ts";
import { fillGroups } from "./number-patterns.ts";
import { recipientsOf } from "./recipients-of-rule.ts";

/** A dialing configuration whose pattern matched, and what its groups matched. */
export interface Dialled {
  row: RowOf<typeof dialcastDialingConfigurations>;
  groups: readonly string[];
}

/** The message of what was dialled, or in words why there is none: those whom the digits stand for must be known. */
export function messageOfDialled({ row, groups }: Dialled, reader: Reader): Record<string, unknown> | string {
  const { messageTemplateNamePattern: pattern } = row;
  const named = pattern ? idOfName(messageTemplates, fillGroups(pattern, groups), reader) : null;
  const { deviceGroupIds, distributionListIds } = row;
  const recipients = {
    deviceGroupIds: [...(deviceGroupIds ?? [])],
    distributionListIds: [...(distributionListIds ?? [])],
  };
  if (row.recipientNamePattern) {
    const name = fillGroups(row.recipientNamePattern, groups);
    const group = idOfName(deviceGroups, name, reader);
    const list = idOfName(distributionLists, name, reader);
    if (!group && !list) return "No group and no list is called what was dialled.";
    if (group) recipients.deviceGroupIds.push(group);
    if (list) recipients.distributionListIds.push(list);
  }
  return { messageTemplateId: named ?? row.messageTemplateId, ...recipientsOf(recipients) };
}

/** The oldest of that name; names need not be unique. */
function idOfName<R extends AnyResource>(resource: R, name: string, reader: Reader): string | null {
  const [row] = reader.find(resource, { name } as unknown as Partial<RowOf<R>>, 1) as { id: string }[];
  return row?.id ?? null;
}
