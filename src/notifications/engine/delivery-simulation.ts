import { yieldToEventLoop } from "../../lib/clock.ts";
import type { ActorContext } from "../../store/store.ts";
import { prepareAudio } from "../compose/audio-rendering.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import { parseSendingProfile } from "../compose/sending-profile.ts";
import type { SendOptions, SimulatedDelivery } from "../notification-service.ts";
import { resolveTargetDevices } from "../recipients/individual-devices.ts";
import { endpointPkOf } from "../recipients/recipient-writer.ts";
import { findProviderProblems, previewDevices } from "./delivery-planner.ts";
import { type AcceptDeps, prepareMessage } from "./stages/accept.ts";

/** Devices looked at in one turn. */
const CHUNK_SIZE = 500;

/**
 * Foresees with the code that sends a message which devices would sound it, and how; those of one plugin, of all without.
 * Throws CallerError.
 */
export async function simulateDelivery(
  input: Record<string, unknown>,
  by: ActorContext,
  options: SendOptions,
  provider: string | null,
  needs: AcceptDeps,
): Promise<SimulatedDelivery> {
  const { named, own } = await prepareMessage(input, by, options, needs);
  const row = { ...own, ...named } as unknown as NotificationRow;
  const { volume, reachesDevices, priority: rank } = parseSendingProfile(row);
  const deviceIds = reachesDevices ? await reachableDeviceIds(row, provider, needs) : [];
  const { programme } = deviceIds.length > 0 ? await prepareAudio(row, needs) : { programme: null };
  const { priorityLevel: priority, notAfter } = own;
  const sound = programme?.payload ?? null;
  const until = notAfter ?? own.createdAt;
  return { deviceIds, reachesPeople: reachesPeople(row), priority, rank: rank ?? 5, volume, notAfter: until, sound };
}

function reachesPeople(row: NotificationRow): boolean {
  const { distributionListIds, userIds, areaOfInterestIds, collaborationGroupIds } = row;
  return [distributionListIds, userIds, areaOfInterestIds, collaborationGroupIds].some((ids) => ids?.length);
}

async function reachableDeviceIds(row: NotificationRow, provider: string | null, needs: AcceptDeps): Promise<string[]> {
  const { store, clock } = needs;
  const groups = { deviceGroupIds: row.deviceGroupIds ?? [], additionalDeviceIds: row.additionalDeviceIds ?? [] };
  const pks = await resolveTargetDevices({ ...groups, toldBefore: null }, needs);
  const ours = endpointPkOf(store, needs.endpointId());
  const troubles = findProviderProblems(store, needs.providers, row);
  const found: string[] = [];
  for (let at = 0; at < pks.length; at += CHUNK_SIZE) {
    const sql =
      "SELECT pk FROM devices WHERE pk IN (SELECT value FROM json_each(?)) AND provider = coalesce(?, provider)";
    const mine = store.all<{ pk: number }>(sql, JSON.stringify(pks.slice(at, at + CHUNK_SIZE)), provider);
    const piece = mine.map(({ pk }) => pk);
    const elsewhere = await needs.activations.activatedElsewhere(piece);
    for (const device of previewDevices(store, row, piece, { ours, troubles, elsewhere }))
      if (device.words === null) found.push(device.id);
    await yieldToEventLoop(clock);
  }
  return found;
}
