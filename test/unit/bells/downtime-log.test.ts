import { afterEach, beforeEach, expect, it } from "vitest";
import { createDowntimeLog, type DowntimeLog } from "../../../src/bells/downtime-log.ts";
import endpointActivities from "../../../src/resources/devices/endpoint-activities.ts";
import notificationActivities from "../../../src/resources/notifications/notification-activities.ts";
import { openScene, type Scene, sounding } from "../notifications/engine/engine-fixture.ts";

let scene: Scene;
let notes: DowntimeLog;
beforeEach(async () => {
  scene = await openScene([]);
  const { store, clock, needs, by, endpointId } = scene.fixture;
  notes = createDowntimeLog({ store, clock, log: needs.log, by, endpointId: () => endpointId });
  notes.start();
});
afterEach(async () => {
  await notes.stop();
  await scene.close();
});

const told = () => scene.fixture.store.find(endpointActivities, {}).map(({ type, value }) => [type, value]);
const diary = (notificationId: string) =>
  scene.fixture.store
    .find(notificationActivities, { notificationId, type: "info" })
    .map(({ details }) => (details as { message: string }).message);
const send = () =>
  scene.air.send({ subject: "Word", ...sounding(8_000), deviceGroupIds: [scene.everywhere], priority: "critical" });

it("an emergency that a suspended machine slept through says so in its diary, as the appliance does", async () => {
  const { clock } = scene.fixture;
  const over = await send();
  await scene.air.untilSettled(over);
  const emergency = await send();
  await clock.advance(2_000);
  // As a suspended machine has it: the clock on the wall alone has gone on.
  clock.stepWallClock(90_000);
  await clock.advance(2_000);
  await notes.stop();
  const reason = "The clock jumped forward by 90 s: it was set, or the machine was suspended.";
  expect(told()).toEqual([["log-message", { kind: "forward", seconds: 90, reason }]]);
  expect(diary(emergency)).toEqual([`Downtime while the notification was active: ${reason}`]);
  expect(diary(over)).toEqual([]);
});

it("a clock that is set back is told, one that is only slewed is not", async () => {
  const { clock } = scene.fixture;
  clock.stepWallClock(2_000);
  await clock.advance(2_000);
  clock.stepWallClock(-3_600_000);
  await clock.advance(2_000);
  await notes.stop();
  expect(told()).toEqual([
    ["log-message", { kind: "back", seconds: 3_600, reason: "The clock was set back by 3600 s." }],
  ]);
});
