import type { Clock } from "../base/clock.ts";
import { invalidValue } from "../base/errors.ts";
import { areasOfDevices } from "../devices/area-presence.ts";
import areasOfInterest from "../resources/areas/areas-of-interest.ts";
import type userDevices from "../resources/people/user-devices.ts";
import type { RowOf } from "../schema/resource.ts";
import type { Behaviour, By, Change, PresentContext, Transaction } from "../store/store.ts";
import { writeCrossings } from "./crossings.ts";
import { insideOf } from "./reports.ts";

type DeviceRow = RowOf<typeof userDevices>;
type DeviceBehaviour = Behaviour<typeof userDevices>;

/**
 * Adds to what devices of users do beyond being stored: they show where they are, and an app that compares itself with
 * the areas may say so in `presence`, which counts as a report. @source decisions.md 5
 */
export function withPresence(rest: DeviceBehaviour, clock: Clock, systemBy: () => By): DeviceBehaviour {
  return {
    ...rest,
    beforeWrite(change, tx, by) {
      rest.beforeWrite?.(change, tx, by);
      if (change.given.has("presence")) checkAreas(change, tx);
    },
    afterWrite(change, tx, by) {
      rest.afterWrite?.(change, tx, by);
      if (change.given.has("presence") && change.after) takePresence(change.after, tx, clock.now(), systemBy());
    },
    present(rows, context) {
      const more = rest.present?.(rows, context);
      const areas = context.query.includeAois === true ? shownAreas(rows, context) : null;
      return presentPresence(rows, context).map((each, at) => ({ ...more?.[at], ...each, ...areas?.[at] }));
    },
  };
}

/** The areas that devices are inside of, as far as the asker sees them. */
function shownAreas(rows: readonly DeviceRow[], { reader, scope }: PresentContext): { areasOfInterest: object[] }[] {
  const pks = rows.map(({ pk }) => pk);
  const inside = areasOfDevices(reader, pks);
  const ids = [...new Set([...inside.values()].flat())];
  const seen = ids.flatMap((id) => reader.get(areasOfInterest, id, scope) ?? []);
  return pks.map((pk) => ({
    areasOfInterest: seen.filter(({ id }) => inside.get(pk)?.includes(id)).map(({ id, name }) => ({ id, name })),
  }));
}

function checkAreas({ before, after }: Change<typeof userDevices>, tx: Transaction): void {
  const kept = new Set(before?.presence?.areaOfInterestIds);
  const presence = after?.presence;
  if (!presence?.areaOfInterestIds) return;
  const known = presence.areaOfInterestIds.filter((id) => isArea(tx, id));
  const strange = presence.areaOfInterestIds.find((id) => !known.includes(id) && !kept.has(id));
  if (strange !== undefined) throw invalidValue("presence.areaOfInterestIds", `There is none with the id ${strange}.`);
  presence.areaOfInterestIds = [...new Set(known)];
}

function isArea(tx: Transaction, id: string): boolean {
  return tx.one("SELECT 1 FROM areas_of_interest WHERE id = ?", id) !== null;
}

/** own choice: taking `presence` back forgets where the device is, and crosses no edge. */
function takePresence(device: DeviceRow, tx: Transaction, now: number, by: By): void {
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
  const inside = insideOf(tx, device);
  const told = presence.areaOfInterestIds ?? [...inside];
  const entered = told.filter((id) => !inside.has(id));
  const exited = [...inside].filter((id) => !told.includes(id));
  writeCrossings(tx, device, { entered, exited }, { at: now, received: now }, by);
}

interface Known {
  device: number;
  at: number;
  accuracyM: number | null;
  checksum: string | null;
}

/** Null for devices that never reported. */
function presentPresence(rows: readonly DeviceRow[], { reader }: PresentContext): { presence: unknown }[] {
  const pks = rows.map(({ pk }) => pk);
  const areas = areasOfDevices(reader, pks);
  const known = reader.all<Known>(
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
