import { randomBytes } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import { parseBlockedNumbers, resolveDialling } from "../../plugins/phone-call/dial-plan.ts";
import plugin from "../../plugins/phone-call/index.ts";
import { createSipRegistrar } from "../../plugins/sip/registrar.ts";
import { openSipUserAgent } from "../../plugins/sip/user-agent/user-agent.ts";
import { systemClock } from "../../src/lib/clock.ts";
import type { DeliveryItem, VoicePart } from "../../src/plugin-api/index.ts";
import { createPluginConfig } from "../../src/plugin-host/plugin-config.ts";
import { type InlinePlugin, runInline } from "./inline-plugin.ts";
import { openScriptedSipSpeaker, type ScriptedSipSpeaker } from "./sip-speaker.ts";
import { itemOf } from "./test-appliance.ts";

const PLAIN = { seal: (plain: string) => plain, open: (sealed: string) => sealed };
const NOTIFICATION = "0190a1b2-0000-7000-8000-000000000001";
const RECIPIENT = "0190a1b2-0000-7000-8000-00000000000a";
const ANSWERS = { options: ["Safe", "I need help"], url: "https://bells.example.org/a" };

describe("a call to a telephone", () => {
  const closing: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  /** `lastsMs` is how long everything takes to say. */
  async function open(
    { lastsMs = 60_000, ...config }: Record<string, unknown> & { lastsMs?: number },
    ...statuses: number[]
  ): Promise<{ calls: InlinePlugin; phone: ScriptedSipSpeaker }> {
    const phone = await openScriptedSipSpeaker(...statuses);
    closing.push(phone.close);
    const trunk = phone.uri.replace("device@", "");
    const given = { trunk, port: 0, address: "127.0.0.1", firstMediaPort: 22_000, lastMediaPort: 22_999, ...config };
    const calls = await runInline(plugin, {
      config: createPluginConfig(plugin.config, PLAIN).toRuntime(given).config,
      answer: ({ method }) => (method === "voice.say" || method === "voice.prepare" ? lastsMs : "Well done"),
    });
    closing.push(calls.close);
    return { calls, phone };
  }
  const itemFor = (more: Partial<DeliveryItem> = {}, id = 1): DeliveryItem =>
    itemOf(id, {
      notificationId: NOTIFICATION,
      device: { id: NOTIFICATION, deviceIdentifier: "+49 30 123456", attributes: {} },
      recipient: { id: RECIPIENT, name: "Fay", answers: ANSWERS },
      ...more,
    });
  const said = (calls: InlinePlugin): string[] =>
    calls.calls.flatMap(({ method, args }) => (method === "voice.say" ? [wordsOf(args[1] as VoicePart[])] : []));
  const untilSaid = async (calls: InlinePlugin, count: number): Promise<void> => {
    await expect.poll(() => said(calls).length, { timeout: 90_000, interval: 5 }).toBeGreaterThanOrEqual(count);
  };

  it("says who calls, the message and the keys, and takes an answer by a key at any time", async () => {
    const { calls, phone } = await open({ callerName: "Oak School" });
    calls.deliver(itemFor());
    await untilSaid(calls, 1);
    await calls.outcome(1, "accepted");
    expect(said(calls)).toEqual([
      "This is an automatic call from Oak School. [message] For Safe, press 1. For I need help, press 2. Press star to hear it again.",
    ]);
    phone.press("2");
    await calls.outcome(1, "confirmed");
    expect(calls.calls.filter(({ method }) => method === "confirm").map(({ args }) => args)).toEqual([
      [RECIPIENT, "I need help"],
    ]);
    await untilSaid(calls, 2);
    expect(said(calls)[1]).toBe("Thank you. Your answer is: I need help. Well done Goodbye.");
    expect(calls.calls.find(({ method }) => method === "voice.open")?.args[0]).toMatchObject({
      ...{ group: "127.0.0.1", codec: "PCMU", sourcePort: expect.any(Number), ssrc: expect.any(Number) },
    });
    phone.hangUp();
    await expect
      .poll(() => calls.outcomes.at(-1))
      .toMatchObject({
        details: { last: true, reason: "It was answered by a key." },
      });
  });

  it("says it again on star, tells a key without meaning, and understands keys told by messages", async () => {
    const { calls, phone } = await open({ language: "de" });
    calls.deliver(itemFor({ drill: true, settings: { introduction: "Hier ist die Leitstelle." } }));
    await untilSaid(calls, 1);
    phone.inform("application/dtmf-relay", "Signal=*\r\nDuration=160\r\n");
    await untilSaid(calls, 2);
    phone.press("7");
    await untilSaid(calls, 3);
    phone.inform("application/dtmf", "1");
    await calls.outcome(1, "confirmed");
    const [opening, again, unknown] = said(calls);
    expect(opening).toMatch(
      /^Hier ist die Leitstelle\. Dies ist nur eine Übung\. \[message\] Für Safe drücken Sie die 1\./,
    );
    expect(again).toMatch(/^\[message\] Für Safe/);
    expect(unknown).toMatch(/^Diese Taste ist hier nicht belegt\. Für Safe/);
  });

  it("ends in words when nobody presses a key, and is never taken for an answer", async () => {
    const { calls, phone } = await open({ lastsMs: 20 });
    calls.deliver(itemFor());
    await untilSaid(calls, 3);
    expect(said(calls)[2]).toBe("Goodbye.");
    await expect
      .poll(() => calls.outcomes.at(-1))
      .toMatchObject({
        level: "accepted",
        details: { last: true, reason: "It was answered, and nobody pressed a key." },
      });
    await expect.poll(() => phone.asked).toContain("BYE");
    expect(calls.levels(1)).not.toContain("heard");
  });

  it("shows that a person was there when a message that asks nothing is acknowledged", async () => {
    const { calls, phone } = await open({});
    calls.deliver(itemFor({ recipient: { id: RECIPIENT, name: null, answers: null } }));
    await untilSaid(calls, 1);
    phone.press("1");
    await calls.outcome(1, "heard");
    expect(said(calls)[0]).toContain("Press 1 when you have understood the message.");
  });

  it("leaves the message on a machine after its beep", async () => {
    const { calls, phone } = await open({});
    calls.deliver(itemFor());
    await untilSaid(calls, 1);
    const beep = Uint8Array.from({ length: 160 }, (_, at) =>
      Math.sin((at * 2 * Math.PI * 1_000) / 8_000) < 0 ? 0x10 : 0x90,
    );
    for (let n = 0; n < 15; n++) phone.speak(beep);
    await untilSaid(calls, 2);
    expect(said(calls)[1]).toMatch(/^This is an automatic call .* \[message\] Goodbye\.$/);
    phone.hangUp();
    await expect
      .poll(() => calls.outcomes.at(-1))
      .toMatchObject({
        level: "accepted",
        details: { last: true, reason: "A machine seems to have answered; the message was spoken to it." },
      });
  });

  it.each([
    [486, "the line is busy (486 Scripted)", { retryable: true, retryAfterMs: 60_000 }],
    [480, "the telephone can't be reached now (480 Scripted)", { retryable: true, retryAfterMs: 60_000 }],
    [603, "the call was declined (603 Scripted)", { retryable: true, retryAfterMs: 60_000 }],
    [404, "there is no such number (404 Scripted)", { retryable: false }],
  ])("that ends with %i is told in words and tried again where that makes sense", async (status, reason, more) => {
    const { calls } = await open({}, status);
    calls.deliver(itemFor());
    expect((await calls.outcome(1, "failed")).details).toEqual({ reason, ...more });
  });

  it("is never made to an emergency service, nor to what is no number", async () => {
    const { calls, phone } = await open({ prefix: "0" });
    const numbers = ["112", "0112", "00112", "+112", "+49112", "9-911", "1911", "fay@example.org"];
    calls.deliver(
      ...numbers.map((deviceIdentifier, at) =>
        itemFor({ device: { id: NOTIFICATION, deviceIdentifier, attributes: {} } }, at + 1),
      ),
    );
    for (const [at, number] of numbers.entries()) {
      const { details } = await calls.outcome(at + 1, "failed");
      expect(details.retryable, number).toBe(false);
      expect(details.reason).toMatch(number.includes("@") ? /no.* telephone number/ : /emergency service/);
    }
    // Digits before a number may make one of an emergency service of it.
    expect(
      resolveDialling("+112", { internationalPrefix: "", outsidePrefix: "", ...parseBlockedNumbers("112") }).error,
    ).toMatch(/emergency/);
    expect(
      resolveDialling("1833", { internationalPrefix: "+", outsidePrefix: "1", ...parseBlockedNumbers("11833") }).error,
    ).toMatch(/emergency/);
    expect(
      resolveDialling("+49 30 123456", { internationalPrefix: "00", outsidePrefix: "0", ...parseBlockedNumbers("112") })
        .dialled,
    ).toBe("0004930123456");
    expect(phone.asked).not.toContain("INVITE");
  });

  it("waits while the trunk is not well, and for a free line", async () => {
    const { calls, phone } = await open({ callsAtOnce: 1 }, 503);
    calls.deliver(itemFor({}, 1), itemFor({}, 2));
    expect((await calls.outcome(1, "failed")).details).toMatchObject({ retryable: true });
    await calls.said(({ state, reason }) => state === "down" && /overloaded/.test(reason ?? ""));
    expect(calls.levels(2)).toEqual([]);
    expect(phone.asked.filter((method) => method === "INVITE")).toHaveLength(1);
  });

  it("is hung up when it is called off, and what waits is not begun", async () => {
    const { calls, phone } = await open({ callsAtOnce: 1 });
    calls.deliver(itemFor({}, 1), itemFor({}, 2));
    await untilSaid(calls, 1);
    calls.stop("aborted", 2, 1);
    await expect.poll(() => phone.asked, { timeout: 90_000 }).toContain("BYE");
    expect(phone.asked.filter((method) => method === "INVITE")).toHaveLength(1);
    expect(calls.levels(2)).toEqual([]);
  });

  it("registers with the trunk by name and password, and takes it back at the end", async () => {
    const places: (string | null)[] = [];
    const registrar = createSipRegistrar({
      ...{ clock: systemClock, realm: "trunk", key: randomBytes(32) },
      algorithms: ["SHA-256"],
      accounts: new Map([["school", { user: "school", password: "right", type: "phones" }]]),
      onChange: (_account, contact) => void places.push(contact),
    });
    const nothing = { tls: null, authority: null, onError: () => {} };
    const agent = await openSipUserAgent({
      ...nothing,
      ...{ clock: systemClock, port: 0, address: "127.0.0.1", onRegister: registrar.handleRegister },
    });
    closing.push(agent.close, async () => registrar.stop());
    const run = (password: string) => {
      const trunk = `sip:127.0.0.1:${agent.ports.udp}`;
      const given = { trunk, register: true, user: "school", password, port: 0, address: "127.0.0.1" };
      return runInline(plugin, { config: createPluginConfig(plugin.config, PLAIN).toRuntime(given).config });
    };
    const stranger = await run("wrong");
    closing.push(stranger.close);
    await stranger.said(({ state, reason }) => state === "down" && /refuses the registration \(401/.test(reason ?? ""));
    expect(places).toEqual([]);
    const calls = await run("right");
    await calls.said(({ state }) => state === "ok");
    expect(places).toEqual([expect.stringMatching(/^sip:school@127\.0\.0\.1:\d+$/)]);
    await calls.close();
    await expect.poll(() => places, { timeout: 90_000 }).toEqual([expect.any(String), null]);
  });

  it.each([
    [{}, "trunk is not set"],
    [{ trunk: "sip:h", prefix: "0;x" }, "prefix holds more than digits"],
    [{ trunk: "sip:h", neverCalled: "112 +911" }, "neverCalled: +911 is no number in digits"],
  ])("tells what it lacks: %j", async (given, reason) => {
    const calls = await runInline(plugin, { config: createPluginConfig(plugin.config, PLAIN).toRuntime(given).config });
    closing.push(calls.close);
    calls.deliver(itemFor());
    expect((await calls.outcome(1, "failed")).details.reason).toBe(reason);
  });
});

function wordsOf(parts: readonly VoicePart[]): string {
  return parts.flatMap((part) => ("text" in part ? [part.text] : "message" in part ? ["[message]"] : [])).join(" ");
}
