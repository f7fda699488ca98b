import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { decodeMuLaw } from "../../../../src/media/mu-law.ts";
import { inspectWav } from "../../../../src/media/wav.ts";
import type { LivePageHandle, LivePageState } from "../../../../src/notifications/notification-service.ts";
import notifications from "../../../../src/resources/notifications/notifications.ts";
import { waitForAssertions } from "../../../support/timeouts.ts";
import type { BroadcastFixture } from "../notification-fixture.ts";
import { type AirFixture, openScene, type Scene } from "./engine-fixture.ts";

let scene: Scene;
let fixture: BroadcastFixture;
let air: AirFixture;
let states: LivePageState[];
const PHONE = "SEP001122334401";
const VOICE = new Float32Array(160).fill(0.5);

beforeEach(async () => {
  scene = await openScene([PHONE]);
  ({ fixture, air } = scene);
  states = [];
});
afterEach(() => scene.close());

const speak = (more: Record<string, unknown> = {}): Promise<LivePageHandle> =>
  air.notificationService.speak(
    { subject: "Live", alertTone: "tone", deviceGroupIds: [scene.everywhere], ...more },
    fixture.by,
    { source: "api" },
    (state) => void states.push(state),
  );
const row = (id: string) => fixture.store.get(notifications, id);
/** Moves time until the page is in a state. */
async function until(state: LivePageState["state"]): Promise<void> {
  for (let ms = 0; !states.some((known) => known.state === state); ms += 100) {
    if (ms > 90_000) throw new Error(`${JSON.stringify(states)} after so long`);
    await fixture.clock.advance(100);
  }
}
async function talk(page: LivePageHandle, pieces: number): Promise<boolean[]> {
  const taken: boolean[] = [];
  for (let n = 0; n < pieces; n++) {
    await fixture.clock.advance(20);
    taken.push(page.pushSamples(VOICE));
  }
  return taken;
}

describe("a live page", () => {
  it("plays after its tone on all devices at once, ends with the last word, and is stored as a recording", async () => {
    const page = await speak();
    expect(page.pushSamples(VOICE)).toBe(false);
    await until("speak");
    const [first] = states;
    const inMs = first?.state === "speak" ? first.inMs : 0;
    expect(inMs).toBeGreaterThan(1_000);
    await fixture.clock.advance(inMs);
    expect(await talk(page, 50)).toEqual(Array(50).fill(true));
    page.finish();
    expect(page.pushSamples(VOICE)).toBe(false);
    await until("over");
    await air.untilSettled(page.notificationId);

    expect(states.at(-1)).toMatchObject({ state: "over", reason: "finished" });
    expect(air.ledger(page.notificationId)).toEqual({ [PHONE]: "playing", "zone:gym1": "sent" });
    const [stream] = air.streamer.streams;
    expect(new Set(air.streamer.streams.map(({ spec }) => spec.payload))).toEqual(new Set([stream?.spec.payload]));
    expect(air.streamer.streams.map(({ ended }) => ended)).toEqual(["stopped", "stopped"]);
    const loud = decodeMuLaw(stream?.spec.payload ?? new Uint8Array()).filter(
      (sample) => Math.abs(sample - 16_384) < 500,
    );
    expect(loud.length).toBeGreaterThanOrEqual(50 * 160);
    // Written to a file meanwhile, which no fake clock knows.
    await waitForAssertions(() => expect(row(page.notificationId)?.audio ?? null).not.toBeNull());
    const kept = row(page.notificationId);
    expect(kept).toMatchObject({ priorityLevel: 3, initiationSourceType: "live-page", stage: "settled" });
    const recording = await fixture.store.files.read(kept?.audio as never);
    expect(inspectWav(recording).durationMs).toBeGreaterThanOrEqual(1_000);
  });

  it("ends when it is stopped or reaches its maximum length", async () => {
    const stopped = await speak();
    await until("speak");
    await air.notificationService.abort(stopped.notificationId, fixture.by);
    expect(states.at(-1)).toMatchObject({ state: "over", reason: "stopped" });
    expect(stopped.pushSamples(VOICE)).toBe(false);

    states = [];
    const long = await speak();
    await until("speak");
    while (!states.some(({ state }) => state === "over")) await talk(long, 50);
    expect(states.at(-1)).toMatchObject({ reason: "limit" });
  });

  it("ends when no more audio arrives, and releases the devices", async () => {
    const page = await speak();
    await until("speak");
    await fixture.clock.advance(2_000);
    await talk(page, 10);
    const from = fixture.clock.now();
    await until("over");
    expect(states.at(-1)).toMatchObject({ reason: "lost" });
    expect(fixture.clock.now() - from).toBeLessThan(6_000);
  });

  it("is ended when it is dropped before its start, without asking devices", async () => {
    const page = await speak();
    page.finish();
    await air.until(() => states.length > 0);
    expect(states).toMatchObject([{ state: "over", reason: "finished" }]);
    expect(row(page.notificationId)?.abortedAt).not.toBeNull();
  });

  it("reports that no device can play it", async () => {
    const page = await speak({ deviceGroupIds: [await fixture.group("Nowhere", [])] });
    await until("over");
    expect(states).toMatchObject([{ state: "over", reason: "unheard", notificationId: page.notificationId }]);
  });

  it("ends with the process and is not replaced after a restart", async () => {
    const page = await speak();
    await until("speak");
    air.crash();
    const before = air.streamer.streams.length;
    await air.restart();
    await air.untilSettled(page.notificationId);
    expect(air.streamer.streams).toHaveLength(before);
    expect(air.ledger(page.notificationId)).toMatchObject({ "zone:gym1": expect.any(String) });
  });
});
