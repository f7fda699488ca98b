import { nextTurn } from "../base/clock.ts";
import type { By } from "../store/store.ts";
import type { Foresight, SendOptions } from "./broadcaster.ts";
import type { NotificationRow } from "./compose.ts";
import { foreseeDevices, troublesOfProviders } from "./planning.ts";
import { prepareSound } from "./programme.ts";
import { endpointKey } from "./recipients.ts";
import { sendingProfileOf } from "./sending-profile.ts";
import { devicesMeant } from "./single-devices.ts";
import { type AcceptNeeds, makeReady } from "./stages/accept.ts";

/** Devices looked at in one turn. */
const PIECE = 500;

/**
 * Foresees with the code that sends a message which devices would sound it, and how; those of one plugin, of all without.
 * Throws CallerError.
 */
export async function foresee(
  input: Record<string, unknown>,
  by: By,
  options: SendOptions,
  provider: string | null,
  needs: AcceptNeeds,
): Promise<Foresight> {
  const { named, own } = await makeReady(input, by, options, needs);
  const row = { ...own, ...named } as unknown as NotificationRow;
  const { volume, reachesDevices, priority: rank } = sendingProfileOf(row);
  const deviceIds = reachesDevices ? await devicesOf(row, provider, needs) : [];
  const { programme } = deviceIds.length > 0 ? await prepareSound(row, needs) : { programme: null };
  const { priorityLevel: priority, notAfter } = own;
  const sound = programme?.payload ?? null;
  const until = notAfter ?? own.createdAt;
  return { deviceIds, reachesPeople: reachesPeople(row), priority, rank: rank ?? 5, volume, notAfter: until, sound };
}

function reachesPeople(row: NotificationRow): boolean {
  const { distributionListIds, userIds, areaOfInterestIds, collaborationGroupIds } = row;
  return [distributionListIds, userIds, areaOfInterestIds, collaborationGroupIds].some((ids) => ids?.length);
}

async function devicesOf(row: NotificationRow, provider: string | null, needs: AcceptNeeds): Promise<string[]> {
  const { store, clock } = needs;
  const groups = { deviceGroupIds: row.deviceGroupIds ?? [], additionalDeviceIds: row.additionalDeviceIds ?? [] };
  const pks = await devicesMeant({ ...groups, toldBefore: null }, needs);
  const ours = endpointKey(store, needs.endpointId());
  const troubles = troublesOfProviders(store, needs.providers, row);
  const found: string[] = [];
  for (let at = 0; at < pks.length; at += PIECE) {
    const sql =
      "SELECT pk FROM devices WHERE pk IN (SELECT value FROM json_each(?)) AND provider = coalesce(?, provider)";
    const mine = store.all<{ pk: number }>(sql, JSON.stringify(pks.slice(at, at + PIECE)), provider);
    const piece = mine.map(({ pk }) => pk);
    const elsewhere = await needs.activations.elsewhere(piece);
    for (const device of foreseeDevices(store, row, piece, { ours, troubles, elsewhere }))
      if (device.words === null) found.push(device.id);
    await nextTurn(clock);
  }
  return found;
}
