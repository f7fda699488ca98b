import { areaIdsOfDevices } from "../devices/area-presence.ts";
import type { Clock } from "../lib/clock.ts";
import { invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import areasOfInterest from "../resources/areas/areas-of-interest.ts";
import type userDevices from "../resources/people/user-devices.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, PresentContext, ResourceHooks, RowMutation, Transaction } from "../store/store.ts";
import { recordCrossings } from "./boundary-crossings.ts";
import { areasContainingDevice } from "./position-reports.ts";

type DeviceRow = RowOf<typeof userDevices>;
type UserDeviceHooks = ResourceHooks<typeof userDevices>;

/**
 * Adds position data to the user device hooks: serializes the areas of a device, and accepts `presence` from an app that
 * evaluates areas itself, which counts as a report. @source docs/decisions/0005-users-and-devices.md, Location
 */
export function withPresenceHooks(rest: UserDeviceHooks, clock: Clock, systemBy: () => ActorContext): UserDeviceHooks {
  return {
    ...rest,
    beforeWrite(change, tx, by) {
      rest.beforeWrite?.(change, tx, by);
      if (change.given.has("presence")) validateAreas(change, tx);
    },
    afterWrite(change, tx, by) {
      rest.afterWrite?.(change, tx, by);
      if (change.given.has("presence") && change.after) applyPresence(change.after, tx, clock.now(), systemBy());
    },
    present(rows, context) {
      const more = rest.present?.(rows, context);
      const areas = context.query.includeAois === true ? visibleAreas(rows, context) : null;
      return serializePresence(rows, context).map((each, at) => ({ ...more?.[at], ...each, ...areas?.[at] }));
    },
  };
}

/** Areas that each device is inside of, as far as the caller may read them. */
function visibleAreas(rows: readonly DeviceRow[], { reader, scope }: PresentContext): { areasOfInterest: object[] }[] {
  const pks = rows.map(({ pk }) => pk);
  const inside = areaIdsOfDevices(reader, pks);
  const ids = [...new Set([...inside.values()].flat())];
  const seen = ids.flatMap((id) => reader.get(areasOfInterest, id, scope) ?? []);
  return pks.map((pk) => ({
    areasOfInterest: seen.filter(({ id }) => inside.get(pk)?.includes(id)).map(({ id, name }) => ({ id, name })),
  }));
}

function validateAreas({ before, after }: RowMutation<typeof userDevices>, tx: Transaction): void {
  const kept = new Set(before?.presence?.areaOfInterestIds);
  const presence = after?.presence;
  if (!presence?.areaOfInterestIds) return;
  const known = presence.areaOfInterestIds.filter((id) => isArea(tx, id));
  const unknownId = presence.areaOfInterestIds.find((id) => !known.includes(id) && !kept.has(id));
  if (unknownId !== undefined)
    throw invalidValue(
      "presence.areaOfInterestIds",
      sentence("field.no-area-of-interest-with-the-id-id-was-found", { id: unknownId }),
    );
  presence.areaOfInterestIds = [...new Set(known)];
}

function isArea(tx: Transaction, id: string): boolean {
  return tx.one("SELECT 1 FROM areas_of_interest WHERE id = ?", id) !== null;
}

/** Clearing `presence` deletes the position of the device and crosses no edge. @source docs/decisions/0202-areas-of-interest.md */
function applyPresence(device: DeviceRow, tx: Transaction, now: number, by: ActorContext): void {
  const { presence } = device;
  if (!presence) {
    tx.run("DELETE FROM area_positions WHERE device = ?", device.pk);
    tx.run("DELETE FROM area_presence WHERE device = ?", device.pk);
    return;
  }
  tx.run(
    `INSERT INTO area_positions (device, at, received, accuracy_m, checksum) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (device) DO UPDATE SET at = excluded.at, received = excluded.received,
       accuracy_m = excluded.accuracy_m, checksum = excluded.checksum, longitude = NULL, latitude = NULL`,
    ...[device.pk, now, now, presence.accuracyInM ?? null, presence.areasOfInterestChecksum ?? null],
  );
  const inside = areasContainingDevice(tx, device);
  const reported = presence.areaOfInterestIds ?? [...inside];
  const entered = reported.filter((id) => !inside.has(id));
  const exited = [...inside].filter((id) => !reported.includes(id));
  recordCrossings(tx, device, { entered, exited }, { at: now, received: now }, by);
}

interface LastPosition {
  device: number;
  at: number;
  accuracyM: number | null;
  checksum: string | null;
}

/** Null for devices without a report. */
function serializePresence(rows: readonly DeviceRow[], { reader }: PresentContext): { presence: unknown }[] {
  const pks = rows.map(({ pk }) => pk);
  const areas = areaIdsOfDevices(reader, pks);
  const known = reader.all<LastPosition>(
    `SELECT device, at, accuracy_m AS accuracyM, checksum FROM area_positions
     WHERE device IN (SELECT value FROM json_each(?))`,
    JSON.stringify(pks),
  );
  const byDevice = new Map(known.map((each) => [each.device, each]));
  return rows.map(({ pk }) => {
    const last = byDevice.get(pk);
    if (!last) return { presence: null };
    const presence = {
      areaOfInterestIds: areas.get(pk) ?? [],
      accuracyInM: last.accuracyM === null ? null : Math.ceil(last.accuracyM),
      areasOfInterestChecksum: last.checksum,
      updatedAt: new Date(last.at).toISOString(),
    };
    return { presence };
  });
}
