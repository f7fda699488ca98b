import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import plugin from "../../plugins/ip-phones/index.ts";
import {
  type AudioTarget,
  DEFAULT_PROFILE,
  type DeliveryItem,
  type DeliveryProfile,
} from "../../src/plugin-api/index.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type InlinePlugin, runInline } from "./inline-plugin.ts";
import { sendSilence } from "./rtp-sender.ts";
import { deliveryTo, type SimulatorDevice, type SpawnedSimulator, spawnSimulator } from "./simulator-fixture.ts";

const CONFIG = { pushUser: "bell", pushPassword: 's3cret & "more" <é>' };
const PROFILE: DeliveryProfile = DEFAULT_PROFILE;

let campus: SpawnedSimulator;
let phones: InlinePlugin;

/** A group of this run alone: multicast on loopback is heard by every process of the machine. */
function sound(): AudioTarget {
  const port = Number(new URL(phones.urls.auth ?? "").port);
  return { group: `239.${port >> 8}.${port & 0xff}.251`, port: 20480, codec: "PCMU", ttl: 1, ssrc: 7 };
}

function device(index: number): SimulatorDevice {
  const found = campus.devices[index];
  if (!found) throw new Error(`the campus has no device ${index}`);
  return found;
}

async function startPlugin(config: Record<string, unknown> = CONFIG): Promise<InlinePlugin> {
  // No cluster is there.
  const started = await runInline(plugin, { config, ports: ["auth"], watches: ["callmgr-clusters"], answer: () => [] });
  await campus.order("/auth-url", { url: started.urls.auth });
  return started;
}

async function joined(deviceIdentifier: string): Promise<boolean> {
  const { joinedAt, leftAt } = await campus.phone(deviceIdentifier);
  return joinedAt !== null && leftAt === null;
}

describe("ip-phones with responding phones", () => {
  // By turns colour, mono, colour, text only.
  beforeAll(async () => {
    campus = await spawnSimulator("--phones", "8");
  });
  afterAll(() => campus.stop());
  beforeEach(async () => {
    await campus.order("/reset", {});
    phones = await startPlugin();
  });
  afterEach(async () => {
    for (const { deviceIdentifier } of campus.devices) {
      await campus.order(`/phones/${deviceIdentifier}/online`, { online: false });
      await campus.order(`/phones/${deviceIdentifier}/online`, { online: true });
      await campus.order(`/phones/${deviceIdentifier}/call`, { state: "idle" });
    }
    await phones.close();
  });

  it("joins the group and shows the text; `playing` follows the packet count", async () => {
    const audio = sound();
    phones.deliver(deliveryTo(device(0), 1, { audio }));
    await phones.outcome(1, "accepted");
    expect(await joined(device(0).deviceIdentifier)).toBe(true);
    expect(phones.levels(1)).toEqual(["accepted"]);
    await sendSilence(audio.group, audio.port, 5);
    await phones.outcome(1, "playing");
    expect(phones.levels(1)).toEqual(["accepted", "playing"]);
    const report = await campus.until(({ summary }) => summary.pages === 1);
    expect(report.summary).toMatchObject({ pushes: 1, authCalls: 1, errors: 0 });
    const [page] = report.phones[0]?.pages ?? [];
    expect(page).toMatchObject({
      type: "CiscoIPPhoneText",
      title: "Fire drill",
      text: "Leave by the nearest exit.",
      softKeys: [{ name: "Exit", url: "SoftKey:Exit" }],
      image: null,
    });
  });

  it("shows every character, marks a drill and keeps a long subject", async () => {
    const subject = `<b> & "quotes" 'n' more: ${"long ".repeat(10)}end`;
    const body = "Zeile 1 <script>&amp;</script>\nline 2: ]]> é 漢字 😀";
    phones.deliver(
      deliveryTo(device(3), 1, { text: { subject, body: `${body}\u0000\u0007\ud800`, short: "" }, drill: true }),
    );
    await phones.outcome(1, "accepted");
    const report = await campus.until(({ summary }) => summary.pages === 1);
    const [page] = report.phones[3]?.pages ?? [];
    expect(page?.title).toBe(`DRILL: ${subject}`.slice(0, 31).concat("…"));
    expect(page?.text).toBe(`THIS IS A DRILL.\n${subject}\n\n${body}\nTHIS IS A DRILL.`);
    expect(report.summary.errors).toBe(0);
  });

  it("shows an image on the models that show images and the text on the others", async () => {
    const imagePath = join(makeTempDir(), "image");
    writeFileSync(imagePath, png(298, 168));
    [0, 1, 3].forEach((index, at) => {
      phones.deliver(deliveryTo(device(index), at + 1, { imagePath }));
    });
    const report = await campus.until(({ summary }) => summary.pages === 3);
    expect(report.summary.errors).toBe(0);
    const pages = [0, 1, 3].map((index) => report.phones[index]?.pages[0]);
    expect(pages.map((page) => page?.image && [page.image.width, page.image.height])).toEqual([
      [298, 168],
      [298, 168],
      null,
    ]);
    expect(pages[0]).toMatchObject({ type: "CiscoIPPhoneImageFile", title: "Fire drill", prompt: "Leave now" });
    expect(pages[2]).toMatchObject({ type: "CiscoIPPhoneText", text: "Leave by the nearest exit." });
    const textKey = pages[0]?.softKeys.find(({ name }) => name === "Text");
    expect(await (await fetch(textKey?.url ?? "")).text()).toContain("<Text>Leave by the nearest exit.</Text>");
  });

  it.each([
    ["none", "GIF89a and some more bytes that fill the header"],
    ["of another kind", "BM and some more bytes that fill the header"],
  ])("shows the text when the image is %s", async (_, text) => {
    const imagePath = join(makeTempDir(), "image");
    writeFileSync(imagePath, text);
    phones.deliver(deliveryTo(device(0), 1, { imagePath }));
    const report = await campus.until(({ summary }) => summary.pages === 1);
    expect(report.phones[0]?.pages[0]?.type).toBe("CiscoIPPhoneText");
    expect(report.summary.errors).toBe(0);
  });

  it.each([
    ["ends the sound and clears the page", PROFILE, true],
    ["leaves a persistent text on the display", { ...PROFILE, persistentText: true }, false],
  ])("stop %s", async (_, profile, cleared) => {
    const audio = sound();
    const { deviceIdentifier } = device(0);
    phones.deliver(deliveryTo(device(0), 1, { audio, profile }));
    await phones.outcome(1, "accepted");
    await campus.until(({ summary }) => summary.pages === 1);
    phones.stop("aborted", 1);
    await campus.until(({ phones: [first] }) => first?.leftAt !== null);
    const { pages, errors } = await campus.phone(deviceIdentifier);
    expect(pages[0]?.clearedAt !== null).toBe(cleared);
    expect(errors).toEqual([]);
    expect(phones.outcomes.every(({ details }) => details.reason === undefined)).toBe(true);
  });

  it("queries once more at the end, then frees the phone", async () => {
    const audio = sound();
    phones.deliver(deliveryTo(device(0), 1, { audio }));
    await phones.outcome(1, "accepted");
    await sendSilence(audio.group, audio.port, 5);
    phones.stop("ended", 1);
    await phones.outcome(1, "playing");
    phones.deliver(deliveryTo(device(0), 2, { audio: { ...audio, port: 20482 } }));
    await phones.outcome(2, "accepted");
    expect(await joined(device(0).deviceIdentifier)).toBe(true);
    const { pushes, errors } = await campus.phone(device(0).deviceIdentifier);
    expect({ pushes, errors }).toEqual({ pushes: 3, errors: [] });
  });

  it("never starts a message that was cancelled while waiting", async () => {
    phones.deliver(deliveryTo(device(0), 1, { audio: sound() }), deliveryTo(device(0), 2, { audio: sound() }));
    phones.stop("preempted", 2);
    expect((await phones.outcome(2, "skipped")).details.reason).toBe(
      "preempted by a higher priority before the phone was contacted",
    );
    await phones.outcome(1, "accepted");
    expect((await campus.phone(device(0).deviceIdentifier)).pushes).toBe(1);
  });

  it("distinguishes expired from failed", async () => {
    phones.deliver(deliveryTo(device(0), 1, { notAfter: 1 }));
    expect((await phones.outcome(1, "expired")).details.reason).toMatch(/expired before/);
    expect((await campus.phone(device(0).deviceIdentifier)).pushes).toBe(0);
  });

  it("takes over a phone that receives another stream", async () => {
    const audio = sound();
    phones.deliver(deliveryTo(device(0), 1, { audio }));
    await phones.outcome(1, "accepted");
    phones.deliver(deliveryTo(device(0), 2, { audio: { ...audio, port: 20482 } }));
    await phones.outcome(2, "accepted");
    const report = await campus.phone(device(0).deviceIdentifier);
    expect(report.earlier.map(({ port }) => port)).toEqual([20480]);
    expect(report.leftAt).toBe(null);
  });

  it("skips a phone in use with skipPhonesInUse", async () => {
    const profile = { ...PROFILE, skipPhonesInUse: true };
    const audio = sound();
    await campus.order(`/phones/${device(0).deviceIdentifier}/call`, { state: "active" });
    phones.deliver(deliveryTo(device(0), 1, { audio, profile }), deliveryTo(device(1), 2, { audio, profile }));
    expect((await phones.outcome(1, "skipped")).details.reason).toBe("phone in use");
    expect((await campus.phone(device(0).deviceIdentifier)).joinedAt).toBe(null);
    await phones.outcome(2, "accepted");
    expect(await joined(device(1).deviceIdentifier)).toBe(true);
    phones.deliver(deliveryTo(device(1), 3, { audio: { ...audio, port: 20482 }, profile }));
    expect((await phones.outcome(3, "skipped")).details.reason).toBe("phone in use");
    expect(await joined(device(1).deviceIdentifier)).toBe(true);
  });

  it("interrupts the display for a normal priority and waits with a lower one", async () => {
    await campus.order(`/phones/${device(0).deviceIdentifier}/call`, { state: "active" });
    phones.deliver(deliveryTo(device(0), 1, { priority: 5 }));
    await phones.outcome(1, "accepted");
    await campus.until(({ summary }) => summary.pages === 1);
    phones.deliver(deliveryTo(device(0), 2, { priority: 8, text: { subject: "Later", body: "", short: "" } }));
    await phones.outcome(2, "accepted");
    expect((await campus.report()).summary.pages).toBe(1);
    await campus.order(`/phones/${device(0).deviceIdentifier}/call`, { state: "idle" });
    const report = await campus.until(({ summary }) => summary.pages === 2);
    expect(report.phones[0]?.pages[1]?.title).toBe("Later");
  });

  it("reports an unreachable phone as retryable", async () => {
    await campus.order(`/phones/${device(0).deviceIdentifier}/online`, { online: false });
    phones.deliver(deliveryTo(device(0), 1));
    expect((await phones.outcome(1, "failed")).details).toEqual({
      reason: "connection closed by the phone",
      retryable: true,
    });
  });

  it("reports the phone's reason for refusing audio", async () => {
    phones.deliver(deliveryTo(device(0), 1, { audio: { ...sound(), port: 20481 } }));
    expect((await phones.outcome(1, "failed")).details).toEqual({
      reason: "the phone refused the audio: Invalid port (status 6)",
      retryable: false,
    });
  });

  it("follows up only reached deliveries", async () => {
    const audio = sound();
    phones.deliver(deliveryTo(device(0), 1, { audio }));
    await phones.outcome(1, "accepted");
    await phones.close();
    phones = await startPlugin();
    phones.deliver(deliveryTo(device(0), 1, { audio, reached: "accepted" }));
    await sendSilence(audio.group, audio.port, 5);
    await phones.outcome(1, "playing");
    expect((await campus.phone(device(0).deviceIdentifier)).pushes).toBe(1);
    phones.stop("ended", 1);
    await campus.until(({ phones: [first] }) => first?.leftAt !== null);
  });

  it("fails permanently without a valid address", async () => {
    const { attributes } = device(0);
    const address = (changes: Record<string, string>) => ({ ...device(0), attributes: { ...attributes, ...changes } });
    phones.deliver(
      deliveryTo(address({ IPAddress: "" }), 1),
      deliveryTo(address({ IPAddress: "phone.example" }), 2),
      deliveryTo(address({ HttpPort: "http" }), 3),
    );
    const reasons = [
      "attribute IPAddress is missing",
      "IPAddress phone.example must be an IP address",
      "HttpPort http must be between 1 and 65535",
    ];
    for (const [at, reason] of reasons.entries()) {
      expect((await phones.outcome(at + 1, "failed")).details).toEqual({ reason, retryable: false });
    }
  });

  it("works without configuration", async () => {
    await phones.close();
    phones = await startPlugin({ pushUser: "carillon", pushPassword: null });
    phones.deliver(deliveryTo(device(0), 1));
    await phones.outcome(1, "accepted");
  });
});

describe("ip-phones and the authentication callback", () => {
  beforeAll(async () => {
    campus = await spawnSimulator("--phones", "1");
  });
  afterAll(() => campus.stop());
  beforeEach(async () => {
    phones = await startPlugin();
  });
  afterEach(() => phones.close());

  it.each([
    [CONFIG.pushUser, CONFIG.pushPassword, "AUTHORIZED"],
    [CONFIG.pushUser, "wrong", "UN-AUTHORIZED"],
    [CONFIG.pushUser, "", "UN-AUTHORIZED"],
    ["other", CONFIG.pushPassword, "UN-AUTHORIZED"],
    [`${CONFIG.pushUser}:${CONFIG.pushPassword}`, "", "UN-AUTHORIZED"],
  ])("answers the callback %s / %s with %s", async (user, password, verdict) => {
    const query = new URLSearchParams({ UserID: user, Password: password, devicename: "SEP1" });
    const answer = await fetch(`${phones.urls.auth}?${query}`);
    expect(await answer.text()).toBe(verdict);
  });

  it("explains a refusal if the phone calls back elsewhere", async () => {
    const other = await runInline(plugin, {
      config: { ...CONFIG, pushPassword: "other" },
      ports: ["auth"],
      watches: ["callmgr-clusters"],
    });
    await campus.order("/auth-url", { url: other.urls.auth });
    phones.deliver(deliveryTo(device(0), 1));
    const { details } = await phones.outcome(1, "failed");
    expect(details.reason).toBe(
      `the phone refused the push user: it did not call ${phones.urls.auth}, which must be its authentication URL`,
    );
    expect(details.retryable).toBe(false);
    await other.close();
  });

  it("returns 404 for unknown pages", async () => {
    const answer = await fetch(new URL(`page/${"A".repeat(22)}`, phones.urls.auth));
    expect(answer.status).toBe(404);
  });
});

describe("ip-phones with phones without proof", () => {
  afterEach(async () => {
    await phones.close();
    await campus.stop();
  });

  it("never reports more than `accepted` without packets", async () => {
    campus = await spawnSimulator("--phones", "1", "--mute", "1");
    phones = await startPlugin();
    const audio = sound();
    phones.deliver(deliveryTo(device(0), 1, { audio }));
    await phones.outcome(1, "accepted");
    await sendSilence(audio.group, audio.port, 5);
    phones.stop("ended", 1);
    await campus.until(({ phones: [first] }) => first?.leftAt !== null);
    await phones.close();
    expect(new Set(phones.levels(1))).toEqual(new Set(["accepted"]));
    phones = await startPlugin();
  });

  it("shows only text on a model without audio, and reports it", async () => {
    campus = await spawnSimulator("--phones", "1", "--no-rtp", "1");
    phones = await startPlugin();
    phones.deliver(deliveryTo(device(0), 1, { audio: sound() }));
    const { details } = await phones.outcome(1, "accepted");
    expect(details.reason).toBe("text only: this model does not support pushed audio");
    const report = await campus.until(({ summary }) => summary.pages === 1);
    expect(report.summary.errors).toBe(0);
    phones.stop("ended", 1);
    const cleared = await campus.until(({ phones: [first] }) => first?.pages[0]?.clearedAt !== null);
    expect(cleared.summary).toMatchObject({ errors: 0, joined: 0 });
  });

  it("reaches 1,000 phones", async () => {
    campus = await spawnSimulator("--phones", "1000", "--latency", "uniform:5:200");
    phones = await startPlugin();
    const audio = sound();
    const items = campus.devices.map((each, index) => deliveryTo(each, index + 1, { audio }));
    for (let at = 0; at < items.length; at += 200) phones.deliver(...items.slice(at, at + 200));
    await Promise.all(items.map((item) => acceptedInTheEnd(item)));
    await sendSilence(audio.group, audio.port, 5);
    const report = await campus.until(({ summary }) => summary.pages >= 1000);
    expect(report.summary.joined).toBe(1000);
    // Once each, unless this machine is so busy that answers come too late.
    const failed = phones.outcomes.filter(({ level }) => level === "failed").length;
    if (failed === 0) expect(report.summary).toMatchObject({ pushes: 1000, authCalls: 1000, pages: 1000, errors: 0 });
    await Promise.all(items.map(({ deliveryId }) => phones.outcome(deliveryId, "playing")));
    phones.stop("ended", ...items.map(({ deliveryId }) => deliveryId));
    await campus.until((now) => now.phones.every(({ leftAt }) => leftAt !== null));
  }, 120_000);
});

/** Does what the host does with failures that may pass: delivers again. */
async function acceptedInTheEnd(item: DeliveryItem): Promise<void> {
  for (let attempt = item.attempt; ; attempt++) {
    const { level, details } = await phones.answered(item.deliveryId);
    if (level === "accepted") return;
    expect(details.retryable, details.reason).toBe(true);
    phones.deliver({ ...item, attempt: attempt + 1 });
  }
}

/** A grey PNG of the given size. */
function png(width: number, height: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 0, 0, 0, 0], 8);
  const rows = Buffer.alloc((width + 1) * height);
  const chunk = (type: string, data: Buffer): Buffer => {
    const out = Buffer.alloc(12 + data.length);
    out.writeUInt32BE(data.length, 0);
    out.write(type, 4, "latin1");
    data.copy(out, 8);
    return out;
  };
  const signature = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
  return Buffer.concat([
    signature,
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(rows)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}
