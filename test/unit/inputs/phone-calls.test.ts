import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createPhoneCalls, type PhoneCalls } from "../../../src/inputs/phone/phone-calls.ts";
import { dialingConfigurationHooks } from "../../../src/inputs/rule-hooks.ts";
import type { LivePageState } from "../../../src/notifications/notification-service.ts";
import endpointActivities from "../../../src/resources/devices/endpoint-activities.ts";
import dialcastDialingConfigurations from "../../../src/resources/inputs/dialcast-dialing-configurations.ts";
import messageTemplates from "../../../src/resources/messages/message-templates.ts";
import auditEntries from "../../../src/resources/security/audit-entries.ts";
import type { ResourceHooks } from "../../../src/store/store.ts";
import { type BroadcastFixture, openBroadcasts } from "../notifications/notification-fixture.ts";

const TARGET = { group: "127.0.0.1", port: 4_000, codec: "PCMU", ssrc: 1, sourcePort: 5_000 } as const;

let scene: BroadcastFixture;
let calls: PhoneCalls;
let hungUp: string[];
let pages: { subject: unknown; samples: number; finished: boolean }[];
let tell: (state: LivePageState) => void;

beforeEach(async () => {
  scene = await openBroadcasts({
    "dialcast-dialing-configurations": dialingConfigurationHooks as unknown as ResourceHooks,
  });
  [hungUp, pages] = [[], []];
  const { store, clock, needs, by } = scene;
  calls = createPhoneCalls({
    ...{ store, clock, log: needs.log, events: needs.events, by, endpointId: () => scene.endpointId },
    voice: { open: async () => {}, play: async () => 100, close: () => {} },
    hangUp: (_plugin, callId) => void hungUp.push(callId),
    inputs: { process: async () => ({ outcome: "started" }), enqueue: async () => {} },
    notificationService: {
      async speak(input, _by, options, onState) {
        const page = { subject: input.messageTemplateId, samples: 0, finished: false, ...options };
        pages.push(page);
        tell = onState;
        return {
          notificationId: "n",
          pushSamples(samples) {
            page.samples += samples.length;
            return true;
          },
          finish() {
            page.finished = true;
            onState({ notificationId: "n", state: "over", reason: "finished" });
          },
        };
      },
      sendBatch: async () => [],
      sendAllClear: async () => ({}) as never,
      getRenderedAudio: async () => null,
    },
  });
});
afterEach(async () => {
  calls.stop();
  await scene.close();
});

async function configure(number: string, more: object): Promise<void> {
  const template = await scene.create(messageTemplates, { name: `T${number}`, subject: "Page" });
  await scene.create(dialcastDialingConfigurations, {
    ...{ name: number, type: "NOTIFICATION", dialingPatternRegex: number, messageTemplateId: template.id, ...more },
  });
}
const TRUNK = { source: "10.0.0.4", isAuthenticated: false };
const dial = (callId: string, calledNumber: string, callingNumber = "214", by: object = TRUNK) =>
  calls.dial("sip", { callId, calledNumber, callingNumber, ...by });
const own = (account: string) => ({ source: account, isAuthenticated: true });
/** Dials and enters wrong PINs, in no time, then hangs up. Returns how long the caller is to wait instead, if so. */
async function guess(number: string, keys: string, caller: string, by: object = TRUNK): Promise<number | null> {
  const id = `call${++count}`;
  const decision = await dial(id, number, caller, by);
  if (!decision.answer) return decision.waitSeconds ?? 0;
  const before = refusals();
  await calls.connect("sip", id, TARGET);
  for (const key of keys) calls.press("sip", id, key);
  await vi.waitUntil(() => refusals() === before + keys.split("#").length - 1, { timeout: 90_000, interval: 5 });
  calls.end("sip", id);
  return null;
}
/** Dials and enters the right PIN; resolves once the call is over. */
async function enter(number: string, keys: string, caller: string, by: object = TRUNK): Promise<void> {
  const id = `call${++count}`;
  const before = [hungUp.length, refusals()];
  expect(await dial(id, number, caller, by)).toEqual({ answer: true });
  await calls.connect("sip", id, TARGET);
  for (const key of keys) calls.press("sip", id, key);
  await until(() => hungUp.length > (before[0] ?? 0));
  expect(refusals()).toBe(before[1]);
}
let count = 0;
/** Lets the dialogue go on, PINs are compared in another thread. */
async function until(isReached: () => boolean): Promise<void> {
  for (let n = 0; !isReached(); n++) {
    if (n > 100_000) throw new Error("the dialogue does not come to rest");
    await new Promise((resolve) => setImmediate(resolve));
    await scene.clock.advance(10);
  }
}
const refusals = () => scene.store.find(endpointActivities, { type: "log-message" }).length;

describe("calls to the appliance", () => {
  it("are answered only for numbers of a configuration", async () => {
    await configure("80.", { callAction: "LIVE_PAGE" });
    expect(await dial("a", "9801")).toEqual({ answer: false, reason: "unknown-number" });
    expect(await dial("b", "801")).toEqual({ answer: true });
    await expect(dial("c", "")).rejects.toMatchObject({ faults: [{ field: "calledNumber" }] });
  });

  it("carry the voice to a live page until the caller hangs up or presses the hash key", async () => {
    await configure("801", { callAction: "LIVE_PAGE" });
    for (const end of [() => calls.end("sip", "a"), () => calls.press("sip", "b", "#")]) {
      const id = pages.length === 0 ? "a" : "b";
      await dial(id, "801");
      const before = pages.length;
      await calls.connect("sip", id, TARGET);
      await until(() => pages.length > before);
      tell({ notificationId: "n", state: "speak", inMs: 0 });
      calls.hear("sip", id, "PCMU", new Uint8Array(160));
      end();
      await until(() => pages.at(-1)?.finished ?? false);
      expect(pages.at(-1)).toMatchObject({ samples: 160, overrules: true, source: "dial-cast" });
    }
    await until(() => hungUp.length === 1);
    expect(hungUp).toEqual(["b"]);
  });

  it("end after three wrong PINs, which lock the caller, and no other", async () => {
    await configure("802", { callAction: "LIVE_PAGE", pin: "4711" });
    await dial("a", "802");
    await calls.connect("sip", "a", TARGET);
    for (const key of "1111#2222#3333#") calls.press("sip", "a", key);
    await until(() => hungUp.length === 1);
    expect([refusals(), pages.length]).toEqual([3, 0]);
    expect(await dial("b", "802")).toMatchObject({ answer: false, reason: "locked", waitSeconds: expect.any(Number) });
    expect(await dial("c", "802", "215")).toEqual({ answer: true });
    await calls.connect("sip", "c", TARGET);
    for (const key of "4711#") calls.press("sip", "c", key);
    await until(() => pages.length === 1);
    await scene.clock.advance(301_000);
    expect(await dial("d", "802")).toEqual({ answer: true });
  });

  it("wait longer and longer for a PIN, whatever numbers an address names", async () => {
    await configure("804", { callAction: "ALL_CLEAR", pin: "4711" });
    let refused: number | null = null;
    let tries = 0;
    for (; refused === null && tries < 100; tries++) refused = await guess("804", "1#", `forged${tries}`);
    expect([refused, refusals()]).toEqual([1, 13]);
    const waits: number[] = [refused ?? 0];
    for (let n = 0; n < 9; n++) {
      await scene.clock.advance(1_000 * (waits.at(-1) ?? 0));
      expect(await guess("804", "1#", `more${n}`)).toBeNull();
      waits.push((await guess("804", "1#", "next")) ?? 0);
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300]);
  });

  it("wait for a PIN whatever addresses callers come from, and have the right one accepted afterwards", async () => {
    await configure("805", { callAction: "ALL_CLEAR", pin: "4711" });
    await configure("806", { callAction: "ALL_CLEAR", pin: "4711" });
    const from = (n: number) => ({ source: `10.0.1.${n}`, isAuthenticated: false });
    for (let n = 0; n < 21; n++) expect(await guess("805", "1#", "214", from(n))).toBeNull();
    expect(await guess("805", "4711#", "214", from(50))).toBe(1);
    const events = scene.store.find(auditEntries, { op: "credential-refused" });
    expect(events).toHaveLength(21);
    expect(events[0]).toMatchObject({
      resource: "dialcast-dialing-configurations",
      details: { callingNumber: "214", source: expect.stringMatching(/^10\.0\.1\./) },
    });
    // Ids and hashes may hold any digits.
    expect(JSON.stringify(events.map(({ details }) => details))).not.toContain("4711");
    // A telephone with its own password is not concerned, nor another configuration.
    await enter("805", "4711#", "214", own("214"));
    await enter("806", "4711#", "214", from(50));
    await scene.clock.advance(1_000);
    await enter("805", "4711#", "214", from(50));
  });

  it("lock a telephone with its own password by its own wrong PINs only", async () => {
    await configure("807", { callAction: "ALL_CLEAR", pin: "4711" });
    await configure("808", { callAction: "ALL_CLEAR", pin: "1234" });
    for (let n = 0; n < 30; n++) await guess("807", "1#", `n${n}`, { source: "214", isAuthenticated: false });
    expect(await guess("807", "1#1#", "214", own("214"))).toBeNull();
    // The right PIN of another number clears nothing.
    await enter("808", "1234#", "214", own("214"));
    expect(await guess("807", "1#", "214", own("214"))).toBeNull();
    expect(await guess("807", "4711#", "214", own("214"))).toBe(300);
    await enter("807", "4711#", "215", own("215"));
  });

  it("forget keys beyond a limit, and end with their plugin", async () => {
    await configure("803", { callAction: "ECHO_TEST", pin: "4711" });
    await dial("a", "803");
    await calls.connect("sip", "a", TARGET);
    for (let n = 0; n < 10_000; n++) calls.press("sip", "a", "1");
    await until(() => hungUp.length === 1);
    expect(refusals()).toBeLessThanOrEqual(3);
    await dial("b", "803", "215");
    await calls.connect("sip", "b", TARGET);
    scene.needs.events.emit("plugin.changed", { plugin: "sip", state: "stopped", reason: null });
    await expect(calls.connect("sip", "b", TARGET)).rejects.toMatchObject({ faults: [{ field: "callId" }] });
  });
});
