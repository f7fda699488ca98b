import { createHash, createHmac } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { signedAlgoHeaders } from "../../plugins/http-speakers/algo-driver.ts";
import plugin from "../../plugins/http-speakers/index.ts";
import { fillTemplate } from "../../plugins/http-speakers/template-placeholders.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { DEFAULT_PROFILE, type DeliveryItem } from "../../src/plugin-api/index.ts";
import { type InlinePlugin, runInline } from "./inline-plugin.ts";
import { withMemoryState } from "./memory-state.ts";
import { deliveryTo } from "./simulator-fixture.ts";

const AUDIO = { group: "0.0.0.0", port: 0, codec: "PCMU", ttl: 1, ssrc: 7 } as const;
const LOUD = { ...DEFAULT_PROFILE, volume: "Maximum" } as const;
const PASSWORD = "algo's own";
const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

interface Asked {
  line: string;
  headers: IncomingMessage["headers"];
  body: string;
}

/** A device that notes what it is asked; `answer` gives status and body. */
async function openDevice(answer: (asked: Asked) => [number, string]) {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const line = `${request.method} ${request.url}`;
      const one = { line, headers: request.headers, body: Buffer.concat(parts).toString("utf8") };
      asked.push(one);
      const [status, body] = answer(one);
      response.writeHead(status).end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return {
    asked,
    lines: () => asked.map(({ line }) => line),
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  };
}

/** As the maker's guide says it, worked out from what arrives. */
function isSigned({ line, headers, body }: Asked): boolean {
  const [method = "", uri = ""] = line.split(" ");
  const [, nonce = "", hmac = ""] = /^hmac admin:([^:]+):([0-9a-f]{64})$/.exec(headers.authorization ?? "") ?? [];
  const seconds = Math.floor(Date.parse(headers.date ?? "") / 1_000);
  const digest = body === "" ? [] : [createHash("md5").update(body).digest("hex"), String(headers["content-type"])];
  if (body !== "" && headers["content-md5"] !== digest[0]) return false;
  const text = [method, uri, ...digest, seconds, nonce].join(":");
  return (
    createHmac("sha256", PASSWORD).update(text).digest("hex") === hmac && Math.abs(Date.now() / 1_000 - seconds) < 30
  );
}

async function run(config: Record<string, unknown>, state = withMemoryState()): Promise<InlinePlugin> {
  const running = await runInline(plugin, {
    config: { templates: [], secrets: null, ...config },
    answer: state,
    allowedTargets: ["127.0.0.0/8"],
  });
  closing.push(running.close);
  return running;
}

function item(deviceIdentifier: string, attributes: Record<string, string>, changes: Partial<DeliveryItem> = {}) {
  return deliveryTo({ type: "speakers", deviceIdentifier, description: "", attributes }, 1, {
    audio: AUDIO,
    ...changes,
  });
}

function algo() {
  let volume = "-18dB";
  return openDevice((asked) => {
    if (!isSigned(asked)) return [401, ""];
    if (asked.line.startsWith("PUT /api/settings")) volume = JSON.parse(asked.body)["audio.page.vol"];
    return [200, asked.line.startsWith("GET /api/settings/") ? JSON.stringify({ "audio.page.vol": volume }) : "{}"];
  });
}

describe("Algo endpoints", () => {
  it("sign requests as in the maker's guide", () => {
    const clock = { now: () => 1_601_312_252_000 };
    const { Authorization, Date: date } = signedAlgoHeaders("GET", "/api/info/about", null, {
      clock,
      password: "algo",
      nonce: "49936",
    });
    const text = "GET:/api/info/about:1601312252:49936";
    expect(Authorization).toBe(`hmac admin:49936:${createHmac("sha256", "algo").update(text).digest("hex")}`);
    expect(date).toBe("Mon, 28 Sep 2020 16:57:32 GMT");
  });

  it("receive volume, stream and stop, and get their previous volume back", async () => {
    const device = await algo();
    const running = await run({ secrets: `algo:gym=${PASSWORD}` });
    running.deliver(item("algo:gym", { Url: device.url, RxPort: "6000" }, { profile: LOUD }));
    await running.outcome(1, "accepted");
    await running.called(4);
    const open = running.calls.find(({ method }) => method === "stream.open");
    expect(open?.args[0]).toEqual({ group: "127.0.0.1", port: 6_000, codec: "PCMU", ttl: 1 });
    running.stop("ended", 1);
    await running.called(6);
    expect(device.lines()).toEqual([
      "GET /api/settings/audio.page.vol",
      "PUT /api/settings",
      "POST /api/controls/rx/start",
      "POST /api/controls/rx/stop",
      "PUT /api/settings",
    ]);
    expect(device.asked[1]?.body).toBe('{"audio.page.vol":"0dB"}');
    expect(device.asked[4]?.body).toBe('{"audio.page.vol":"-18dB"}');
    expect(running.levels(1)).not.toContain("playing");
  });

  it("get their volume back after a crash", async () => {
    const device = await algo();
    const state = withMemoryState();
    const first = await run({ secrets: `algo=${PASSWORD}` }, state);
    first.deliver(item("algo:gym", { Url: device.url }, { profile: LOUD }));
    await first.outcome(1, "accepted");
    // The next run knows nothing but what was kept.
    const second = await run({ secrets: `algo=${PASSWORD}` }, state);
    await second.called(4);
    expect(device.asked.at(-1)?.body).toBe('{"audio.page.vol":"-18dB"}');
  });

  it("are stopped if their stream cannot be opened", async () => {
    const device = await algo();
    const refuse = ({ method }: { method: string }) => (method === "stream.open" ? new Error("no route") : undefined);
    const running = await run({ secrets: `algo=${PASSWORD}` }, withMemoryState(refuse));
    running.deliver(item("algo:gym", { Url: device.url, RxPort: "6000" }));
    expect((await running.outcome(1, "failed")).details.reason).toContain("no route");
    expect(device.lines()).toEqual(["POST /api/controls/rx/start", "POST /api/controls/rx/stop"]);
  });

  it("report a wrong or missing password", async () => {
    const device = await algo();
    const wrong = await run({ secrets: "algo=another" });
    wrong.deliver(item("algo:gym", { Url: device.url }));
    const { details } = await wrong.outcome(1, "failed");
    expect(details).toEqual({ reason: "authentication failed (HTTP 401)", retryable: false });
    const none = await run({});
    none.deliver(item("algo:gym", { Url: device.url }));
    expect((await none.outcome(1, "failed")).details.reason).toMatch(/missing in secrets/);
  });
});

const SIGN = {
  name: "sign",
  hosts: ["127.0.0.0/8", "::1"],
  start: {
    path: "/show/{{attribute.Row}}?by={{subject}}",
    headers: { "X-Key": "{{secret.sign}}", "X-Subject": "{{subject}}" },
    body: '{"text": "{{body}}", "volume": 1}',
  },
  stop: { method: "DELETE", path: "/show/{{id}}" },
  status: { method: "GET", path: "/status" },
  playingWhen: "showing",
};

describe("devices with a template", () => {
  it("get requests with every value escaped for its context", async () => {
    const device = await openDevice(({ line }) => [200, line === "GET /status" ? "now showing" : ""]);
    const running = await run({ templates: [SIGN], secrets: "sign=the key" });
    const text = { subject: 'Fire & "smoke"\r\nX-Evil: 1', body: 'a "quote"\nand {{subject}}', short: "" };
    running.deliver(item("http:sign", { Url: device.url, Template: "sign", Row: "../1" }, { text, audio: null }));
    await running.outcome(1, "playing");
    const [start] = device.asked;
    expect(start?.line).toBe(`POST /show/..%2F1?by=${encodeURIComponent(text.subject)}`);
    expect(JSON.parse(start?.body ?? "")).toEqual({ text: text.body, volume: 1 });
    expect(start?.headers["x-key"]).toBe("the key");
    expect(start?.headers["x-evil"]).toBeUndefined();
    running.stop("aborted", 1);
    await running.called(1);
    expect(JSON.stringify(running.outcomes)).not.toContain("the key");
  });

  it("get text settings, and a stop after the display time", async () => {
    const device = await openDevice(() => [200, ""]);
    const body =
      '{"text": "{{text}}", "words": "{{short}}", "for": {{duration}}, "speed": {{scrollSpeed}}, "scroll": {{scrollDuration}}, "times": {{scrollRepetitions}}}';
    const start = { path: "/show", body, type: "application/json" };
    const running = await run({ templates: [{ name: "led", start, stop: { method: "DELETE", path: "/show" } }] });
    const text = { subject: "Fire", body: "Leave\nnow", short: "Fire - Leave now" };
    const profile = { ...DEFAULT_PROFILE, concatenatedText: true, durationMs: 20 };
    const scroll = { speed: 12, durationMs: 1_500, repetitions: 3 };
    const at = { Url: device.url, Template: "led" };
    running.deliver(item("http:led", at, { text, audio: null, profile: { ...profile, scroll } }));
    await expect.poll(device.lines, { timeout: 90_000 }).toEqual(["POST /show", "DELETE /show"]);
    const told = { words: text.short, for: 0.02, speed: 12, scroll: 1.5, times: 3 };
    expect(JSON.parse(device.asked[0]?.body ?? "")).toEqual({ ...told, text: "Fire - Leave now" });
    // One that plays a message of sound alone gets no words.
    const heard = { ...at, RtpPort: "6000" };
    running.deliver(item("http:led", heard, { text, profile: { ...DEFAULT_PROFILE, showsText: false } }));
    await expect.poll(() => device.asked.length, { timeout: 90_000 }).toBe(3);
    expect(JSON.parse(device.asked[2]?.body ?? "")).toMatchObject({ text: "", words: "", for: 0, speed: 0, times: 0 });
    // Where the sound could not be made, the words are all there is.
    running.deliver(item("http:led", heard, { text, audio: null, profile: { ...DEFAULT_PROFILE, showsText: false } }));
    await expect.poll(() => device.asked.length, { timeout: 90_000 }).toBe(4);
    expect(JSON.parse(device.asked[3]?.body ?? "")).toMatchObject({ words: text.short });
  });

  it("get secrets only at the allowed hosts of their template", async () => {
    const device = await openDevice(() => [200, ""]);
    const elsewhere = { ...SIGN, hosts: ["10.0.0.0/24", "sign.example.org"] };
    const running = await run({ templates: [elsewhere], secrets: "sign=the key" });
    const { port } = new URL(device.url);
    const urls = [device.url, `http://localhost:${port}`, `http://10.0.0.7@127.0.0.1:${port}`];
    for (const [at, Url] of urls.entries()) {
      running.deliver({ ...item("http:sign", { Url, Template: "sign" }), deliveryId: at + 1 });
      expect((await running.outcome(at + 1, "failed")).details.reason).toContain("is not allowed by template");
    }
    expect(device.asked).toEqual([]);
    const { hosts: _, ...nobody } = SIGN;
    const { statuses } = await run({ templates: [nobody, { ...SIGN, hosts: ["10.0.0.0/99"] }], secrets: "sign=k" });
    expect(statuses[0]?.reason).toBe(
      "templates[0]: hosts must be given if the template contains secrets; templates[1]: hosts must be a list of names, addresses and networks",
    );
  });

  it("are not contacted at addresses that are not allowed", async () => {
    const device = await openDevice(() => [200, ""]);
    const guarded = await runInline(plugin, {
      config: { templates: [SIGN], secrets: "sign=k" },
      answer: withMemoryState(),
      allowedTargets: [],
    });
    closing.push(guarded.close);
    guarded.deliver(item("http:sign", { Url: device.url, Template: "sign" }));
    expect((await guarded.outcome(1, "failed")).details.reason).toMatch(/127\.0\.0\.1/);
    expect(device.asked).toEqual([]);
  });

  it("report invalid templates", async () => {
    const bad = [
      { name: "a" },
      { ...SIGN, name: "b", start: { path: "/{{secret.none}}" } },
      { ...SIGN, start: { path: "http://evil" } },
    ];
    const running = await run({ templates: [...bad, SIGN], secrets: "sign=k" });
    const { reason } = running.statuses[0] ?? {};
    expect(reason).toBe(
      "templates[0]: start is missing; templates[1]: start: unknown placeholder secret.none; templates[2]: start: path must begin with /",
    );
  });

  it.each([
    ["xml", "&lt;a&gt; &amp; &quot;b&quot;"],
    ["form", "%3Ca%3E%20%26%20%22b%22"],
    ["json", '<a> & \\"b\\"'],
    ["text", '<a> & "b"'],
  ] as const)("escapes for %s", (surroundings, expected) => {
    expect(fillTemplate("{{ body }}", () => '<a> & "b"', surroundings)).toBe(expected);
  });
});

it("signs with a clock within the maker's 30 s", () => {
  const { Date: date } = signedAlgoHeaders("GET", "/", null, { clock: systemClock, password: "p", nonce: "1" });
  expect(Math.abs(Date.parse(date ?? "") - Date.now())).toBeLessThan(30_000);
});

describe("desktop notifiers and programs", () => {
  it("get the message as JSON, and its end, without a template", async () => {
    const device = await openDevice(() => [200, "{}"]);
    const running = await run({});
    const text = { subject: 'Say "hi"', body: "Line 1\nLine 2", short: "" };
    running.deliver(item("idn:desk", { Url: device.url }, { audio: null, text, drill: true }));
    await running.outcome(1, "accepted");
    running.stop("aborted", 1);
    await expect
      .poll(device.lines)
      .toEqual(["POST /notifications", expect.stringMatching(/^DELETE \/notifications\/./)]);
    expect(JSON.parse(device.asked[0]?.body ?? "")).toMatchObject({
      ...{ subject: 'Say "hi"', body: "Line 1\nLine 2", drill: true, durationSeconds: 0 },
    });
    expect(running.levels(1)).not.toContain("playing");
  });

  it("take a template, and say that theirs is missing", async () => {
    const device = await openDevice(() => [200, "{}"]);
    const running = await run({ templates: [{ name: "own", start: { path: "/own" } }] });
    running.deliver(item("plugin:ticker", { Url: device.url, Template: "own" }));
    await running.outcome(1, "accepted");
    expect(device.lines()).toEqual(["POST /own"]);
    running.deliver({ ...item("plugin:ticker", { Url: device.url, Template: "gone" }), deliveryId: 2 });
    expect((await running.outcome(2, "failed")).details.reason).toBe('template "gone" not found (attribute Template)');
    running.deliver({ ...item("http:sign", { Url: device.url }), deliveryId: 3 });
    expect((await running.outcome(3, "failed")).details.reason).toBe('template "" not found (attribute Template)');
  });
});
