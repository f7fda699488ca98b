import type { ActorContext } from "../../store/store.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import { parseSendingProfile } from "../compose/sending-profile.ts";
import type { MessageReach } from "../notification-service.ts";
import { targetsOfRecipients, usersOfTargets } from "../recipients/recipient-diff.ts";
import { remoteProviderOf } from "./delivery-planner.ts";
import { unsent } from "./delivery-simulation.ts";
import { iterateDevicePreviews } from "./device-previews.ts";
import { type AcceptDeps, prepareMessage } from "./stages/accept.ts";

/**
 * Whom a message would reach now, by the code that sends it: devices that would be asked and have answered the last
 * message, and people on its lists. Throws CallerError.
 */
export async function assessMessageReach(
  input: Record<string, unknown>,
  by: ActorContext,
  deps: AcceptDeps,
): Promise<MessageReach> {
  const { own } = await prepareMessage(input, by, { source: "api", overrules: true }, deps);
  const row = unsent(own as unknown as NotificationRow);
  const reach: MessageReach = { devices: [], doubtful: 0, unreachable: 0, people: await peopleOf(row, deps) };
  if (!parseSendingProfile(row).reachesDevices) return reach;
  for await (const devices of iterateDevicePreviews(row, { carrier: remoteProviderOf(deps) }, deps)) {
    for (const { id, type, problem, doubt } of devices) {
      if (problem !== null) reach.unreachable++;
      else if (doubt !== null) reach.doubtful++;
      else reach.devices.push({ id, type });
    }
  }
  return reach;
}

function peopleOf(row: NotificationRow, { store, clock }: AcceptDeps): Promise<ReadonlySet<number>> {
  const { distributionListIds, userIds } = row;
  const recipients = { distributionListIds: distributionListIds ?? [], userIds: userIds ?? [], deviceGroupIds: [] };
  return usersOfTargets(targetsOfRecipients(store, recipients), { reader: store, clock });
}
