import { sentence } from "../lib/sentences/sentences.ts";
import { ownRecipients, RECIPIENTS_DELETED } from "../notifications/compose/own-recipients.ts";
import deviceGroups from "../resources/devices/device-groups.ts";
import type dialcastDialingConfigurations from "../resources/inputs/dialcast-dialing-configurations.ts";
import distributionLists from "../resources/lists/distribution-lists.ts";
import messageTemplates from "../resources/messages/message-templates.ts";
import type { AnyResource, RowOf } from "../schema/resource.ts";
import type { StoreReader } from "../store/store.ts";
import { substituteGroups } from "./number-patterns.ts";

/** A dialing configuration whose pattern matched, with the matched groups. */
export interface DialcastMatch {
  row: RowOf<typeof dialcastDialingConfigurations> & { pk: number };
  groups: readonly string[];
}

/** The notification of a dialled number, or an error message if a dialled group or list does not exist. */
export function dialcastMessage({ row, groups }: DialcastMatch, reader: StoreReader): Record<string, unknown> | string {
  const { messageTemplateNamePattern: pattern } = row;
  const named = pattern ? findIdByName(messageTemplates, substituteGroups(pattern, groups), reader) : null;
  const { deviceGroupIds, distributionListIds } = row;
  const recipients = {
    deviceGroupIds: [...(deviceGroupIds ?? [])],
    distributionListIds: [...(distributionListIds ?? [])],
    lostReferences: row.lostReferences,
  };
  if (row.recipientNamePattern) {
    const name = substituteGroups(row.recipientNamePattern, groups);
    const group = findIdByName(deviceGroups, name, reader);
    const list = findIdByName(distributionLists, name, reader);
    if (!group && !list) return sentence("error.no-device-group-or-distribution-list-with-the-dialled-name-was-found");
    if (group) recipients.deviceGroupIds.push(group);
    if (list) recipients.distributionListIds.push(list);
  }
  const own = ownRecipients(recipients);
  return own === null ? RECIPIENTS_DELETED : { messageTemplateId: named ?? row.messageTemplateId, ...own };
}

/** The oldest row with that name; names need not be unique. */
function findIdByName<R extends AnyResource>(resource: R, name: string, reader: StoreReader): string | null {
  const [row] = reader.find(resource, { name } as unknown as Partial<RowOf<R>>, 1) as { id: string }[];
  return row?.id ?? null;
}
