import { afterEach, beforeEach, expect, it } from "vitest";
import { startLatencies } from "../../../../src/notifications/engine/start-latency.ts";
import notifications from "../../../../src/resources/notifications/notifications.ts";
import { type BroadcastFixture, openBroadcasts } from "../notification-fixture.ts";
import { type AirFixture, openAir, sounding } from "./engine-fixture.ts";

let fixture: BroadcastFixture;
let air: AirFixture;
let group: string;
beforeEach(async () => {
  fixture = await openBroadcasts();
  const names: string[] = [];
  for (const Model of ["quick", "slow", "lame"]) {
    for (let n = 0; n < 5; n++) {
      await fixture.phone(`SEP${Model}${n}`, { attributes: { Model } });
      names.push(`SEP${Model}${n}`);
    }
  }
  group = await fixture.group("All", names);
  air = await openAir(fixture);
});
afterEach(async () => {
  await air.notificationService.stop();
  await fixture.close();
});

/** Sends a page whose devices say when they began, by model and number; what each was to be held back by. */
async function page(
  beginsAfterMs: (model: string, n: number) => number,
  more: object = {},
): Promise<Record<string, number>> {
  // The addresses of the page before rest for five minutes.
  await fixture.clock.advance(301_000);
  air.channels.given.length = 0;
  const id = await air.send({ subject: "Page", deviceGroupIds: [group], ...sounding(2_000), ...more });
  await fixture.clock.advance(1_000);
  const t0 = fixture.store.get(notifications, id)?.t0 ?? Number.NaN;
  const items = air.channels.given.flatMap((each) => each.items);
  air.notificationService.handleOutcomes(
    items.map(({ deliveryId, device, holdMs: heldMs = 0 }) => {
      const model = device.attributes.Model ?? "";
      const started = { at: t0 + beginsAfterMs(model, Number(device.deviceIdentifier.at(-1))) + heldMs, model, heldMs };
      return { provider: "ip-phones", deliveryId, level: "playing", details: { started }, at: fixture.clock.now() };
    }),
  );
  await air.untilSettled(id);
  return Object.fromEntries(items.map(({ device, holdMs = 0 }) => [device.attributes.Model ?? "", holdMs]));
}

it("delays faster models by their reported start latency, ignoring faulty and very slow ones", async () => {
  const usual = (model: string, n: number): number =>
    ({ quick: 40, slow: 140, lame: 900 })[model as "quick"] + (n === 4 ? 2_000 : n);
  expect(await page(usual)).toEqual({ quick: 0, slow: 0, lame: 0 });
  const known = startLatencies(fixture.store).map(({ model, medianMs, holdMs }) => [model, medianMs, holdMs]);
  expect(known).toEqual([
    ["lame", 902, 0],
    ["slow", 142, 0],
    ["quick", 42, 100],
  ]);
  // What they are held back by is not what they need.
  for (let turn = 0; turn < 2; turn++) expect(await page(usual)).toEqual({ quick: 100, slow: 0, lame: 0 });
  expect(startLatencies(fixture.store).find(({ model }) => model === "quick")).toMatchObject({
    medianMs: 42,
    reports: 15,
  });
  // Nothing delays an emergency.
  expect(await page(() => 5_000, { priority: "critical" })).toEqual({ quick: 0, slow: 0, lame: 0 });
  // Nobody believes a clock that is wrong.
  await page(() => -5_000);
  expect(startLatencies(fixture.store).find(({ model }) => model === "quick")).toMatchObject({ reports: 15 });
});
