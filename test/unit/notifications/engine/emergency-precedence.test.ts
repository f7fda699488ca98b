import { expect, it } from "vitest";
import { createActiveBroadcast } from "../../../../src/notifications/engine/active-broadcast.ts";
import {
  type ActiveBroadcastDeps,
  createDeferred,
} from "../../../../src/notifications/engine/active-broadcast-state.ts";
import { createEmergencyPrecedence } from "../../../../src/notifications/engine/emergency-precedence.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

it("makes others wait until the emergency is audible, at most two seconds", async () => {
  const clock = createFakeClock();
  const precedence = createEmergencyPrecedence(clock, new AbortController().signal);
  const passed: string[] = [];
  const urgent = createDeferred();
  precedence.holdOthersUntil(urgent.promise);
  void precedence.waitForEmergencies().then(() => passed.push("one"));
  await clock.advance(1_000);
  expect(passed).toEqual([]);
  urgent.resolve();
  await clock.advance(0);
  expect(passed).toEqual(["one"]);
  precedence.holdOthersUntil(new Promise(() => {}));
  void precedence.waitForEmergencies().then(() => passed.push("two"));
  await clock.advance(1_999);
  expect(passed).toEqual(["one"]);
  await clock.advance(1);
  expect(passed).toEqual(["one", "two"]);
});

it("starts an emergency in time while its devices are still being read; another message waits for them", async () => {
  const clock = createFakeClock();
  const begun: string[] = [];
  for (const name of ["emergency", "routine"] as const) {
    const sound = { t0: null as number | null, over: false, start: () => (sound.t0 = clock.now()) };
    const needs = { clock, sound, held: false, shared: { class: name, notAfter: clock.now() + 60_000 }, targets: {} };
    createActiveBroadcast({ ...needs, onAudioStarted: () => begun.push(name) } as unknown as ActiveBroadcastDeps);
  }
  await clock.advance(399);
  expect(begun).toEqual([]);
  await clock.advance(10_000);
  expect(begun).toEqual(["emergency"]);
});
