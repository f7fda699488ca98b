import type { ActorContext } from "../../store/store.ts";
import { prepareAudio } from "../compose/audio-rendering.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import { parseSendingProfile } from "../compose/sending-profile.ts";
import type { SendOptions, SimulatedDelivery } from "../notification-service.ts";
import { iterateDevicePreviews } from "./device-previews.ts";
import { type AcceptDeps, prepareMessage } from "./stages/accept.ts";

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

/** The values of a message that was not stored, with what storing it fills in. */
export function unsent(row: NotificationRow): NotificationRow {
  const { deviceGroupIds = [], additionalDeviceIds = [] } = row;
  return { ...row, deviceGroupIds, additionalDeviceIds, toldBefore: null };
}

async function reachableDeviceIds(row: NotificationRow, provider: string | null, deps: AcceptDeps): Promise<string[]> {
  const found: string[] = [];
  for await (const devices of iterateDevicePreviews(unsent(row), { provider, carrier: null }, deps))
    for (const { id, problem } of devices) if (problem === null) found.push(id);
  return found;
}
