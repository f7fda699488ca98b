import { yieldToEventLoop } from "../../lib/clock.ts";
import type { ActorContext, StoreReader } from "../../store/store.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import { parseSendingProfile } from "../compose/sending-profile.ts";
import type { MessageReach } from "../notification-service.ts";
import { resolveTargetDevices } from "../recipients/individual-devices.ts";
import { endpointPkOf } from "../recipients/recipient-writer.ts";
import { findProviderProblems, previewDevices, remoteProviderOf } from "./delivery-planner.ts";
import { type AcceptDeps, prepareMessage } from "./stages/accept.ts";

/** Devices handled per turn. */
const CHUNK_SIZE = 500;

/** Users of lists, directory groups on them and users named directly; `?`: JSON lists of list and user ids, and now. */
const PEOPLE_SQL = `WITH lists AS (
    SELECT pk FROM distribution_lists WHERE id IN (SELECT value FROM json_each(?)))
  SELECT id FROM users WHERE id IN (SELECT value FROM json_each(?))
  UNION SELECT u.id FROM subscriptions s JOIN users u ON u.pk = s.user_pk
    WHERE s.distribution_list_pk IN (SELECT pk FROM lists)
      AND (s.subscription_end_date IS NULL OR s.subscription_end_date > ?)
  UNION SELECT u.id FROM distribution_list_scim_groups l JOIN scim_group_members m ON m.scim_group_pk = l.scim_group_pk
    JOIN users u ON u.pk = m.user_pk WHERE l.distribution_list_pk IN (SELECT pk FROM lists)`;

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
  const row = own as unknown as NotificationRow;
  const { reachesDevices } = parseSendingProfile(row);
  const reach: MessageReach = { devices: [], doubtful: 0, unreachable: 0, people: peopleOf(row, deps) };
  const pks = reachesDevices ? await resolveTargetDevices({ ...row, toldBefore: null }, deps) : [];
  const ours = endpointPkOf(deps.store, deps.endpointId());
  const troubles = findProviderProblems(deps.store, deps.providers, row);
  const carrier = remoteProviderOf(deps);
  for (let at = 0; at < pks.length; at += CHUNK_SIZE) {
    const piece = pks.slice(at, at + CHUNK_SIZE);
    const elsewhere = await deps.activations.activatedElsewhere(piece);
    for (const { id, type, problem, doubt } of previewDevices(deps.store, row, piece, {
      ours,
      troubles,
      elsewhere,
      carrier,
    })) {
      if (problem !== null) reach.unreachable++;
      else if (doubt !== null) reach.doubtful++;
      else reach.devices.push({ id, type });
    }
    await yieldToEventLoop(deps.clock);
  }
  return reach;
}

function peopleOf(
  { distributionListIds, userIds }: NotificationRow,
  { store, clock }: { store: StoreReader; clock: { now(): number } },
): string[] {
  const ids = [JSON.stringify(distributionListIds ?? []), JSON.stringify(userIds ?? [])] as const;
  return store.all<{ id: string }>(PEOPLE_SQL, ...ids, clock.now()).map(({ id }) => id);
}
