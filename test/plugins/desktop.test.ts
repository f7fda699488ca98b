import { afterEach, describe, expect, it } from "vitest";
import { createDesktopScreens } from "../../plugins/desktop/desktop-screens.ts";
import plugin from "../../plugins/desktop/index.ts";
import { runsOf } from "../../src/console/web/desktop/screen.ts";
import { DEFAULT_PROFILE, type DeliveryItem } from "../../src/plugin-api/index.ts";
import { createFakeClock, type FakeClock } from "../support/fake-clock.ts";
import { type HandleHostCall, type InlinePlugin, runInline } from "./inline-plugin.ts";
import { itemOf } from "./test-appliance.ts";

const RECIPIENT = "0198f3a0-0000-7000-8000-00000000aaaa";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

interface Desk {
  desk: InlinePlugin;
  clock: FakeClock;
  token: string;
  item(deliveryId: number, of?: Partial<DeliveryItem>): DeliveryItem;
  /** The levels of a delivery, once what was said is told. */
  levels(deliveryId: number): Promise<string[]>;
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what is tested
  ask(version: string, path?: string, more?: object): Promise<{ status: number; body: any }>;
}

async function open(answer: HandleHostCall = () => null): Promise<Desk> {
  const clock = createFakeClock();
  const desk = await runInline(plugin, { config: { waitSeconds: 8 }, clock, answer });
  closing.push(() => desk.close());
  const made = JSON.parse(String((await desk.request({ url: "/token" })).body));
  const device = {
    id: "0198f3a0-0000-7000-8000-00000000f00b",
    deviceIdentifier: made.deviceIdentifier,
    attributes: {},
  };
  const recipient = { id: RECIPIENT, name: "Hall", answers: { options: ["Seen"], url: "https://x.example.org" } };
  return {
    ...{ desk, clock, token: made.token },
    item: (deliveryId, of = {}) => itemOf(deliveryId, { device, recipient, sentAt: clock.now(), ...of }),
    async levels(deliveryId) {
      // What was said before is told before the answer.
      await desk.request({ method: "GET", url: "/token" });
      await clock.advance(60);
      await desk.request({ method: "GET", url: "/token" });
      return desk.levels(deliveryId);
    },
    async ask(version, path = "/screen", more = {}) {
      const said = JSON.stringify({ token: made.token, version, ...more });
      const { status, body } = await desk.request({ url: path, body: Buffer.from(said) });
      return { status, body: body ? JSON.parse(String(body)) : null };
    },
  };
}

describe("desktop", () => {
  it("gets a message while it waits, proves that it shows it and what was pressed, and clears it when it is called off", async () => {
    const { desk, ask, item, levels, clock } = await open((call) => (call.method === "confirm" ? "Thank you." : null));
    const { version } = (await ask("")).body;
    const waiting = ask(version);
    const before = clock.monotonicMs();
    desk.deliver(item(1), item(2, { priority: 0, class: "emergency", text: { subject: "Fire", body: "", short: "" } }));
    expect((await waiting).body.messages.length).toBeGreaterThan(0);
    expect(clock.monotonicMs()).toBe(before);
    const { body: both } = await ask("");
    expect(both.messages.map(({ subject }: { subject: string }) => subject)).toEqual(["Fire", "Test"]);
    expect(both.messages[0]).toMatchObject({ deliveryId: 2, emergency: true, options: ["Seen"] });
    expect(await levels(2)).toContain("sent");
    expect((await ask("", "/receipt", { deliveryId: 2 })).status).toBe(204);
    expect((await ask("", "/receipt", { deliveryId: 2, option: "Seen" })).body).toEqual({ reply: "Thank you." });
    expect(new Set(await levels(2))).toEqual(new Set(["sent", "playing", "confirmed"]));
    expect(await levels(1)).not.toContain("playing");
    expect(desk.calls.at(-1)?.args).toEqual([RECIPIENT, "Seen"]);
    const later = ask(both.version);
    desk.stop("aborted", 1, 2);
    expect((await later).body.messages).toEqual([]);
  });

  it("answers after its time with nothing new, shows nothing for ever, and tells who is there", async () => {
    const { ask, item, desk, clock } = await open();
    desk.deliver(item(1), item(2, { expiresAt: clock.now() + 20_000 }));
    const { version, messages } = (await ask("")).body;
    expect(messages.length).toBe(2);
    let answered = false;
    const waiting = ask(version).then((screen) => {
      answered = true;
      return screen.body;
    });
    await clock.advance(7_900);
    expect(answered).toBe(false);
    await clock.advance(200);
    expect((await waiting).version).toBe(version);
    await clock.advance(15_000);
    expect((await ask("")).body.messages.map(({ deliveryId }: { deliveryId: number }) => deliveryId)).toEqual([1]);
    await clock.advance(3_600_000);
    expect((await ask("")).body.messages).toEqual([]);
  });

  it("shows a text as the message's settings say, for its time from when it is seen", async () => {
    const { desk, ask, item, clock } = await open();
    const scroll = { speed: 12, durationMs: null, repetitions: 2 };
    const profile = { ...DEFAULT_PROFILE, concatenatedText: true, durationMs: 30_000, scroll };
    desk.deliver(item(1, { profile, text: { subject: "Fire", body: "Leave now.", short: "" } }), item(2));
    await clock.advance(60_000);
    const [first, second] = (await ask("")).body.messages;
    expect(first).toMatchObject({ subject: "Fire\nLeave now.", body: "", scroll });
    expect(second).toMatchObject({ subject: "Test", body: "This is a test.", scroll: null });
    for (const deliveryId of [1, 2, 1]) expect((await ask("", "/receipt", { deliveryId })).status).toBe(204);
    await clock.advance(29_000);
    expect((await ask("")).body.messages).toHaveLength(2);
    await clock.advance(1_000);
    expect((await ask("")).body.messages).toEqual([second]);
    expect(runsOf(scroll, 24)).toEqual({ eachMs: 2_000, runs: 2 });
    expect(runsOf({ speed: null, durationMs: 5_000, repetitions: null }, 8)).toEqual({ eachMs: 1_000, runs: 5 });
    expect(runsOf({ speed: 1, durationMs: null, repetitions: null }, 0).runs).toBe(Number.POSITIVE_INFINITY);
  });

  it("clears what is called off also where nobody told that it was shown", async () => {
    const { desk, ask, item } = await open();
    desk.deliver(item(1), item(2, { notificationId: RECIPIENT }));
    const { version } = (await ask("")).body;
    const waiting = ask(version);
    desk.event("notification.stopped", { notificationId: RECIPIENT, reason: "aborted" });
    const { messages, version: next } = (await waiting).body;
    expect(messages.map(({ deliveryId }: { deliveryId: number }) => deliveryId)).toEqual([1]);
    const later = ask(next);
    desk.deliver(item(3));
    expect((await later).body.messages.length).toBe(2);
  });

  it("answers who has waited longest when too many ask, so that strangers shut nobody out", async () => {
    const screens = createDesktopScreens({ clock: createFakeClock(), waitMs: 8_000, run: "run" });
    const wait = async (token: string) => screens.poll(token, (await screens.poll(token, "")).version);
    const own = wait("own");
    for (let at = 0; at < 901; at++) void wait(`stranger ${at}`);
    expect((await own).messages).toEqual([]);
  });

  it("shows nothing to others, and refuses what has not registered itself", async () => {
    const { desk, item, levels } = await open();
    desk.deliver(item(1), itemOf(2));
    expect(await levels(2)).toEqual(["failed"]);
    expect(desk.outcomes[0]?.details).toMatchObject({ retryable: false });
    const say = (url: string, said: object) => desk.request({ url, body: Buffer.from(JSON.stringify(said)) });
    const stranger = "A".repeat(43);
    expect(JSON.parse(String((await say("/screen", { token: stranger })).body)).messages).toEqual([]);
    expect((await say("/receipt", { token: stranger, deliveryId: 1 })).status).toBe(404);
    for (const token of [undefined, "", item(1).device.deviceIdentifier]) {
      expect((await say("/screen", { token })).status).toBe(401);
      expect((await say("/receipt", { token, deliveryId: 1 })).status).toBe(401);
    }
    expect((await desk.request({ method: "GET", url: "/token" })).status).toBe(405);
    expect(await levels(1)).toEqual([]);
  });
});
