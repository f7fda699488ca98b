import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type AirFixture, openAir } from "./air-fixture.ts";
import { type BroadcastFixture, openBroadcasts } from "./broadcast-fixture.ts";

let fixture: BroadcastFixture;
let air: AirFixture;
let everywhere: string;
let _phonesOnly: string;
const PHONES = [1, 2, 3, 4].map((n) => `SEP00112233440${n}`);
const ZONES = ["zone:gym1", "zone:hall2"];

beforeEach(async () => {
  fixture = await openBroadcasts();
  for (const phone of PHONES) await fixture.phone(phone);
  for (const zone of ZONES) await fixture.zone(zone.slice(5));
  everywhere = await fixture.group("Everywhere", [...PHONES, ...ZONES]);
  _phonesOnly = await fixture.group("Phones", PHONES);
  air = await openAir(fixture);
});
afterEach(async () => {
  await air.broadcaster.stop();
  await fixture.close();
});

describe("everybody answers", () => {
  it("plays in all phones and zones from one moment, then ends every row at what is proven", async () => {
    const audio = await fixture.recording(4_000);
    const id = await air.send({ subject: "Fire drill", audio, deviceGroupIds: [everywhere] });
    await air.untilSettled(id);
    expect(air.ledger(id)).toEqual({
      ...Object.fromEntries(PHONES.map((phone) => [phone, "playing"])),
      ...Object.fromEntries(ZONES.map((zone) => [zone, "sent"])),
    });
    expect(air.rows(id).every(({ ended, late, attempt }) => ended && !late && attempt === 1)).toBe(true);
    expect(new Set(air.streamer.streams.map(({ t0Ms }) => t0Ms)).size).toBe(1);
    expect(air.streamer.streams).toHaveLength(3);
    expect(air.diary(id)).toEqual(expect.arrayContaining(["broadcast-started", "broadcast-finished"]));
  });
});
