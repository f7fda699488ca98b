import { afterEach, describe, expect, it } from "vitest";
import plugin from "../../plugins/sip/index.ts";
import { NetworkUnreachableError } from "../../src/lib/network-route.ts";
import type { AudioTarget, DeliveryItem } from "../../src/plugin-api/index.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { type HandleHostCall, type InlineOptions, type InlinePlugin, runInline } from "./inline-plugin.ts";
import { openScriptedSipSpeaker, type ScriptedSipSpeaker } from "./sip-speaker.ts";
import { itemOf } from "./test-appliance.ts";

const AUDIO: AudioTarget = { group: "0.0.0.0", port: 0, codec: "PCMU", ttl: 1, ssrc: 77 };
const CONFIG = {
  ...{ port: 0, tlsPort: 0, tlsCertificate: null, tlsKey: null, certificateAuthority: null, address: "127.0.0.1" },
  ...{ firstMediaPort: 21_000, lastMediaPort: 21_999, callsPerSecond: 200, callerName: "School" },
  ...{ user: null, password: null, realm: "school", digest: "MD5", accounts: null },
};

describe("a call to a SIP device", () => {
  const closing: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  async function open(...statuses: number[]): Promise<{ sip: InlinePlugin; speaker: ScriptedSipSpeaker }> {
    return openWith({}, ...statuses);
  }

  async function openWith(more: Partial<InlineOptions>, ...statuses: number[]) {
    const speaker = await openScriptedSipSpeaker(...statuses);
    closing.push(speaker.close);
    const sip = await runInline(plugin, { config: CONFIG, ...more });
    closing.push(sip.close);
    return { sip, speaker };
  }

  function itemFor({ uri }: ScriptedSipSpeaker, more: Partial<DeliveryItem> = {}): DeliveryItem {
    const device = {
      id: "0198f3a0-0000-7000-8000-00000000f0a1",
      deviceIdentifier: "sip:gym",
      attributes: { SipUri: uri },
    };
    return itemOf(1, { device, audio: AUDIO, ...more });
  }

  it("is answered, gets its stream from the offered port, and is hung up at the end", async () => {
    const { sip, speaker } = await open();
    sip.deliver(itemFor(speaker));
    await sip.outcome(1, "accepted");
    await sip.called(1);
    const [stream] = sip.calls;
    const port = Number(/:(\d+)$/.exec(speaker.uri)?.[1]);
    expect(stream?.method).toBe("stream.open");
    expect(stream?.args[0]).toEqual({
      group: "127.0.0.1",
      port,
      codec: "PCMU",
      ttl: 1,
      sourcePort: expect.any(Number),
    });
    sip.stop("ended", 1);
    await speaker.came(3);
    await sip.called(2);
    expect(speaker.asked).toEqual(["INVITE", "ACK", "BYE"]);
    expect(sip.calls[1]).toMatchObject({
      method: "stream.close",
      args: [{ group: "127.0.0.1", port }, expect.any(String)],
    });
    expect(sip.levels(1)).not.toContain("playing");
  });

  it.each([
    [401, "authentication failed (401 Scripted)", { retryable: false, inconclusive: true }],
    [403, "call refused (403 Scripted)", { retryable: false, inconclusive: true }],
    [404, "unknown user (404 Scripted)", { retryable: false, inconclusive: false }],
    [408, "no response (408 Scripted)", { retryable: true, inconclusive: false }],
    [410, "no longer available (410 Scripted)", { retryable: false, inconclusive: false }],
    [480, "not registered or unreachable (480 Scripted)", { retryable: true, inconclusive: false }],
    [486, "in use (486 Scripted)", { retryable: true, inconclusive: true }],
    [488, "no common codec (G.722, G.711) (488 Scripted)", { retryable: false, inconclusive: true }],
    [500, "call failed: 500 Scripted", { retryable: true, inconclusive: true }],
    [503, "server unavailable (503 Scripted)", { retryable: true, inconclusive: true }],
    [599, "call failed: 599 Scripted", { retryable: false, inconclusive: false }],
    [600, "in use (600 Scripted)", { retryable: true, inconclusive: true }],
    [603, "call declined (603 Scripted)", { retryable: false, inconclusive: true }],
    [604, "unknown user (604 Scripted)", { retryable: false, inconclusive: false }],
  ])("explains status %i, and whether a retry makes sense and the device is silent", async (status, reason, flags) => {
    const { sip, speaker } = await open(status);
    sip.deliver(itemFor(speaker));
    expect((await sip.outcome(1, "failed")).details).toEqual({ reason, ...flags });
    await speaker.came(2);
    expect(speaker.asked).toEqual(["INVITE", "ACK"]);
  });

  it("skips a device in use with skipPhonesInUse, and fails without an address", async () => {
    const { sip, speaker } = await open(486);
    const profile = { ...itemOf(1).profile, skipPhonesInUse: true };
    sip.deliver(itemFor(speaker, { profile }));
    expect((await sip.outcome(1, "skipped")).details.reason).toMatch(/in use/);
    const unknown = { id: "0198f3a0-0000-7000-8000-00000000f0a2", deviceIdentifier: "sip:hall", attributes: {} };
    sip.deliver(itemFor(speaker, { deliveryId: 2, device: unknown }));
    expect((await sip.outcome(2, "failed")).details).toEqual({ reason: "not registered", retryable: true });
    sip.deliver(itemFor(speaker, { deliveryId: 3, audio: null }));
    expect((await sip.outcome(3, "failed")).details).toMatchObject({
      reason: "the device receives only audio",
      unsupported: true,
    });
  });

  it("ends with what was proven and a reason when the device hangs up during a message", async () => {
    const { sip, speaker } = await open();
    sip.deliver(itemFor(speaker));
    await speaker.came(2);
    speaker.hangUp();
    await expect
      .poll(() => sip.outcomes.at(-1))
      .toMatchObject({
        level: "accepted",
        details: { reason: "the device hung up during the message", last: true },
      });
  });

  it("redials only in emergencies when the device hangs up", async () => {
    const { sip, speaker } = await open();
    sip.deliver(itemFor(speaker, { class: "emergency", priority: 0 }));
    await speaker.came(2);
    speaker.hangUp();
    await speaker.came(4);
    expect(speaker.asked).toEqual(["INVITE", "ACK", "INVITE", "ACK"]);
    sip.stop("aborted", 1);
    await speaker.came(5);
    expect(speaker.asked.at(-1)).toBe("BYE");
  });

  it("frees the device and calls it again when the own address is gone", async () => {
    const { sip, speaker } = await open();
    sip.deliver(itemFor(speaker));
    await sip.called(1);
    sip.event("network.changed", { addresses: [] });
    await speaker.came(5);
    expect(speaker.asked).toEqual(["INVITE", "ACK", "BYE", "INVITE", "ACK"]);
    expect(sip.levels(1)).not.toContain("failed");
  });

  it.each([
    ["the answer", -200, ["INVITE", "ACK", "BYE", "INVITE", "ACK"]],
    ["a refusal", -486, ["INVITE", "ACK", "INVITE", "ACK"]],
    ["a redirection", -302, ["INVITE", "ACK", "INVITE", "ACK"]],
  ])("ends a call first of which %s was lost with the own address", async (_, status, asked) => {
    const clock = createFakeClock();
    const { sip, speaker } = await openWith({ clock }, status);
    sip.deliver(itemFor(speaker));
    await speaker.came(1);
    sip.event("network.changed", { addresses: [] });
    // For the limit of calls per second; an INVITE is repeated after half a second, or because of the change.
    await clock.advance(10);
    await speaker.came(asked.length);
    await sip.called(1);
    expect(speaker.asked).toEqual(asked);
    await clock.advance(100);
    expect(sip.levels(1)).toEqual(["accepted"]);
  });

  it("repeats an INVITE after each change until its answer arrives", async () => {
    const clock = createFakeClock();
    const { sip, speaker } = await openWith({ clock }, 0, 0, 200);
    sip.deliver(itemFor(speaker));
    await speaker.came(1);
    for (const asks of [2, 3]) {
      sip.event("network.changed", { addresses: [] });
      // The device never answers the lost call: it is called again all the same.
      await clock.advance(10);
      await clock.advance(2_000);
      await speaker.came(asks);
    }
    await sip.called(1);
    await clock.advance(100);
    expect(sip.levels(1)).toEqual(["accepted"]);
  });

  it.each([408, 480, 500, 503])("calls a device that had answered until it no longer says %i", async (status) => {
    const clock = createFakeClock();
    const { sip, speaker } = await openWith({ clock }, 200, status, status, 200);
    sip.deliver(itemFor(speaker));
    await sip.called(1);
    sip.event("network.changed", { addresses: [] });
    await expect.poll(() => clock.advance(500).then(() => speaker.asked.length)).toBeGreaterThanOrEqual(9);
    expect(speaker.asked.filter((method) => method === "INVITE")).toHaveLength(4);
    expect(new Set(sip.levels(1))).toEqual(new Set(["accepted"]));
  });

  it.each([486, 600])(
    "calls a device again that is busy (%i) with the call that the own address took along",
    async (busy) => {
      const clock = createFakeClock();
      const { sip, speaker } = await openWith({ clock }, 200, busy, busy, 200);
      const profile = { ...itemOf(1).profile, skipPhonesInUse: true };
      sip.deliver(itemFor(speaker, { profile }));
      await sip.called(1);
      sip.event("network.changed", { addresses: [] });
      await speaker.came(5);
      for (const asks of [7, 9]) {
        await expect.poll(() => clock.advance(1_000).then(() => speaker.asked.length)).toBeGreaterThanOrEqual(asks);
      }
      expect(speaker.asked.slice(0, 9)).toEqual(["INVITE", "ACK", "BYE", ...Array(3).fill(["INVITE", "ACK"]).flat()]);
      expect(sip.levels(1)).not.toContain("failed");
      expect(sip.levels(1)).not.toContain("skipped");
    },
  );

  it("takes a device for busy that is so half a minute after a change", async () => {
    const clock = createFakeClock();
    const { sip, speaker } = await openWith({ clock }, 0, ...Array(60).fill(486));
    sip.deliver(itemFor(speaker));
    await speaker.came(1);
    sip.event("network.changed", { addresses: [] });
    await expect.poll(() => clock.advance(1_000).then(() => sip.levels(1))).toContain("failed");
    expect(speaker.asked.filter((method) => method === "INVITE").length).toBeGreaterThan(20);
  });

  it("places a call again whose stream found no route, without a word of the device or the machine", async () => {
    const clock = createFakeClock();
    let opened = 0;
    const answer: HandleHostCall = ({ method }) =>
      method === "stream.open" && ++opened < 3
        ? new NetworkUnreachableError("No network route to 127.0.0.1.")
        : undefined;
    const { sip, speaker } = await openWith({ clock, answer });
    sip.deliver(itemFor(speaker));
    await expect.poll(() => clock.advance(100).then(() => opened)).toBe(3);
    expect(speaker.asked.filter((method) => method !== "ACK")).toEqual(["INVITE", "BYE", "INVITE", "BYE", "INVITE"]);
    expect(new Set(sip.levels(1))).toEqual(new Set(["accepted"]));
    expect(sip.outcomes.filter(({ details }) => details.reason)).toEqual([]);
  });

  it("keeps the call when another address changed", async () => {
    const { sip, speaker } = await open();
    sip.deliver(itemFor(speaker));
    await sip.called(1);
    sip.event("network.changed", { addresses: [{ name: "lo", address: "127.0.0.1", family: "IPv4", internal: true }] });
    sip.stop("ended", 1);
    await speaker.came(3);
    expect(speaker.asked).toEqual(["INVITE", "ACK", "BYE"]);
  });

  it("waits for the network where the machine lacks its address", async () => {
    const speaker = await openScriptedSipSpeaker();
    closing.push(speaker.close);
    const sip = await runInline(plugin, { config: { ...CONFIG, address: "192.0.2.77" } });
    closing.push(sip.close);
    sip.deliver(itemFor(speaker));
    const reason = "Network unreachable: 192.0.2.77 is not an address of this machine.";
    expect((await sip.outcome(1, "failed")).details).toEqual({ reason, retryable: true, noNetwork: true });
  });
});
