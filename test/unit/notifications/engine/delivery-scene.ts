import devices from "../../../../src/resources/devices/devices.ts";
import type { RowOf } from "../../../../src/schema/resource.ts";
import { type BroadcastFixture, openBroadcasts } from "../notification-fixture.ts";
import { type AirFixture, type DeviceManners, openAir, sounding } from "./engine-fixture.ts";

/** The phones there. */
export const PHONES = [1, 2, 3, 4].map((n) => `SEP00112233440${n}`);
export const [ONE = "", TWO = "", THREE = ""] = PHONES;
/** The zones there. */
export const ZONES = ["zone:gym1", "zone:hall2"];

/** Four phones and two zones in three groups, and the second half of broadcasts over them. */
export interface Stories {
  fixture: BroadcastFixture;
  air: AirFixture;
  /** Ids of the groups. */
  everywhere: string;
  phonesOnly: string;
  zonesOnly: string;
  /** From now on a phone behaves so. */
  manners(identifier: string, how: DeviceManners): void;
  device(identifier: string): RowOf<typeof devices> | undefined;
  /** A device's row of a message's ledger. */
  row(id: string, identifier: string): ReturnType<AirFixture["rows"]>[number] | undefined;
  /** Deliveries that channels were told to stop for this reason. */
  stops(reason: string): number[];
  /** Sends what sounds everywhere for about `ms`, unless told otherwise. */
  play(more?: Record<string, unknown>, ms?: number): Promise<string>;
  close(): Promise<void>;
}

/** Opens them. */
export async function openStories(): Promise<Stories> {
  const fixture = await openBroadcasts();
  for (const phone of PHONES) await fixture.phone(phone);
  for (const zone of ZONES) await fixture.zone(zone.slice(5));
  const everywhere = await fixture.group("Everywhere", [...PHONES, ...ZONES]);
  const phonesOnly = await fixture.group("Phones", PHONES);
  const zonesOnly = await fixture.group("Zones", ZONES);
  const air = await openAir(fixture);
  return {
    ...{ fixture, air, everywhere, phonesOnly, zonesOnly },
    manners: (identifier, how) => void air.channels.manners.set(identifier, how),
    device: (deviceIdentifier) => fixture.store.find(devices, { deviceIdentifier })[0],
    row: (id, identifier) => air.rows(id).find((each) => each.identifier === identifier),
    stops: (reason) =>
      air.channels.stopped
        .filter(({ request }) => request.reason === reason)
        .flatMap(({ request }) => request.deliveryIds),
    play: (more = {}, ms = 4_000) =>
      air.send({ subject: "Fire drill", ...sounding(ms), deviceGroupIds: [everywhere], ...more }),
    async close() {
      await air.notificationService.stop();
      await fixture.close();
    },
  };
}

/** A ledger in which all these devices stand at one level. */
export function all(identifiers: readonly string[], level: string): Record<string, string> {
  return Object.fromEntries(identifiers.map((each) => [each, level]));
}
