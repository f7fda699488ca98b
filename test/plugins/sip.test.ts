import { afterEach, describe, expect, it } from "vitest";
import plugin from "../../plugins/sip/index.ts";
import type { AudioTarget, DeliveryItem } from "../../src/plugin-api/index.ts";
import { type InlinePlugin, runInline } from "./inline-plugin.ts";
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
    const speaker = await openScriptedSipSpeaker(...statuses);
    closing.push(speaker.close);
    const sip = await runInline(plugin, { config: CONFIG });
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

  it("takes the call, gets its stream from the port that was offered, and is hung up when it is over", async () => {
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
    [486, "it is in use (486 Scripted)", true],
    [603, "it declined the call (603 Scripted)", false],
    [480, "it is not registered, or can't be reached now (480 Scripted)", true],
    [488, "it can't play what is sent (G.722, G.711) (488 Scripted)", false],
    [599, "the call failed: 599 Scripted", false],
  ])("says in words what %i means, and whether it is worth another try", async (status, reason, retryable) => {
    const { sip, speaker } = await open(status);
    sip.deliver(itemFor(speaker));
    expect((await sip.outcome(1, "failed")).details).toEqual({ reason, retryable });
    await speaker.came(2);
    expect(speaker.asked).toEqual(["INVITE", "ACK"]);
  });

  it("leaves a device in use alone where the profile says so, and one without an address", async () => {
    const { sip, speaker } = await open(486);
    const profile = { ...itemOf(1).profile, skipPhonesInUse: true };
    sip.deliver(itemFor(speaker, { profile }));
    expect((await sip.outcome(1, "skipped")).details.reason).toMatch(/in use/);
    const unknown = { id: "0198f3a0-0000-7000-8000-00000000f0a2", deviceIdentifier: "sip:hall", attributes: {} };
    sip.deliver(itemFor(speaker, { deliveryId: 2, device: unknown }));
    expect((await sip.outcome(2, "failed")).details).toEqual({ reason: "it is not registered", retryable: true });
    sip.deliver(itemFor(speaker, { deliveryId: 3, audio: null }));
    expect((await sip.outcome(3, "skipped")).details.reason).toMatch(/heard/);
  });

  it("calls again when the device ends the call of an emergency, and lets it be otherwise", async () => {
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
});
