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

/** Devices handled per turn. */
const CHUNK_SIZE = 500;

/**
 * Simulates a message with the code that sends it: which devices of one plugin, or of all, would play it and how.
 * Throws CallerError.
 */
export async function simulateDelivery(
  input: Record<string, unknown>,
  by: ActorContext,
  options: SendOptions,
  provider: string | null,
  deps: AcceptDeps,
): Promise<SimulatedDelivery> {
  const { named, own } = await prepareMessage(input, by, options, deps);
  const row = { ...own, ...named } as unknown as NotificationRow;
  const { volume, reachesDevices, priority: rank } = parseSendingProfile(row);
  const deviceIds = reachesDevices ? await reachableDeviceIds(row, provider, deps) : [];
  const { renderedAudio } = deviceIds.length > 0 ? await prepareAudio(row, deps) : { renderedAudio: null };
  const { priorityLevel: priority, notAfter } = own;
  const sound = renderedAudio?.payload ?? null;
  const until = notAfter ?? own.createdAt;
  return { deviceIds, reachesPeople: reachesPeople(row), priority, rank: rank ?? 5, volume, notAfter: until, sound };
}

function reachesPeople(row: NotificationRow): boolean {
  const { distributionListIds, userIds, areaOfInterestIds, collaborationGroupIds } = row;
  return [distributionListIds, userIds, areaOfInterestIds, collaborationGroupIds].some((ids) => ids?.length);
}

async function reachableDeviceIds(row: NotificationRow, provider: string | null, deps: AcceptDeps): Promise<string[]> {
  const { store, clock } = deps;
  const groups = { deviceGroupIds: row.deviceGroupIds ?? [], additionalDeviceIds: row.additionalDeviceIds ?? [] };
  const pks = await resolveTargetDevices({ ...groups, toldBefore: null }, deps);
  const ours = endpointPkOf(store, deps.endpointId());
  const troubles = findProviderProblems(store, deps.providers, row);
  const found: string[] = [];
  for (let at = 0; at < pks.length; at += CHUNK_SIZE) {
    const sql =
      "SELECT pk FROM devices WHERE pk IN (SELECT value FROM json_each(?)) AND provider = coalesce(?, provider)";
    const ownDevices = store.all<{ pk: number }>(sql, JSON.stringify(pks.slice(at, at + CHUNK_SIZE)), provider);
    const piece = ownDevices.map(({ pk }) => pk);
    const elsewhere = await deps.activations.activatedElsewhere(piece);
    for (const device of previewDevices(store, row, piece, { ours, troubles, elsewhere, carrier: null }))
      if (device.problem === null) found.push(device.id);
    await yieldToEventLoop(clock);
  }
  return found;
}
