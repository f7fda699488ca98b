import { afterAll, beforeAll, describe, expect, it } from "vitest";
import deviceGroups from "../../../../src/resources/devices/device-groups.ts";
import { type BroadcastFixture, openBroadcasts } from "../notification-fixture.ts";
import { type AirFixture, openAir, sounding } from "./engine-fixture.ts";

const PHONES = 10_000;
const DEAD = 300;

let fixture: BroadcastFixture;
let air: AirFixture;
let commits = 0;

beforeAll(async () => {
  fixture = await openBroadcasts();
  await fixture.store.write((tx) => {
    tx.run(
      `INSERT INTO devices (id, created_at, updated_at, extension_pk, endpoint_pk, device_identifier, icop_id, description,
         type, attributes, defunct, is_licensed, provider)
       WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
       SELECT uuid7(), 0, 0, (SELECT pk FROM extensions LIMIT 1), (SELECT pk FROM endpoints LIMIT 1),
         printf('SEP%012d', i), printf('SEP%012d', i), 'Phone', 'phones', '{}', 0, 1, 'ip-phones' FROM n`,
      PHONES,
    );
  });
  const { store } = fixture.needs;
  fixture.needs.store = {
    ...store,
    write: (fn, lane) => {
      commits++;
      return store.write(fn, lane);
    },
  };
  air = await openAir(fixture);
  for (let n = 1; n <= DEAD; n++) {
    const fails = { reason: "no answer", retryable: n % 2 === 0 };
    air.channels.manners.set(`SEP${String(n).padStart(12, "0")}`, { answersAfterMs: 2_000, fails });
  }
});
afterAll(async () => {
  await air.notificationService.stop();
  await fixture.close();
});

describe("10,000 phones", () => {
  it("end in batches within the window, with few transactions; dead ones delay no other", async () => {
    const group = await fixture.create(deviceGroups, { name: "All", filterType: "ACCEPT" });
    const before = commits;
    const began = fixture.clock.now();
    const id = await air.send({ subject: "All", ...sounding(15_000), deviceGroupIds: [group.id] });
    await fixture.clock.advance(6_000);
    const levels = () =>
      Object.fromEntries(
        fixture.store
          .all<{ level: string; n: number }>(
            "SELECT level, count(*) AS n FROM deliveries GROUP BY level ORDER BY level",
          )
          .map(({ level, n }) => [level, n]),
      );
    expect(levels().playing).toBe(PHONES - DEAD);
    await air.untilSettled(id, 120_000);
    expect(levels()).toEqual({ failed: DEAD, playing: PHONES - DEAD });
    expect(fixture.store.one("SELECT count(*) AS n FROM deliveries WHERE ended_at IS NULL")).toEqual({ n: 0 });
    expect(air.channels.maxOut).toBeLessThanOrEqual(1_024);
    expect(Math.max(...air.channels.given.map(({ items }) => items.length))).toBeLessThanOrEqual(200);
    const seconds = (fixture.clock.now() - began) / 1_000;
    // Some 30,000 reports: at most one transaction per 50 ms, or per 200 rows.
    expect(commits - before).toBeLessThan(seconds * 20 + 30_000 / 200);
  }, 180_000);
});
