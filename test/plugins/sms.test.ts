import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import smpp, { type Pdu } from "smpp";
import { afterEach, describe, expect, it } from "vitest";
import { createReceiptTracker, parseDeliveryReceipt } from "../../plugins/sms/delivery-receipts.ts";
import plugin from "../../plugins/sms/index.ts";
import { segmentText } from "../../plugins/sms/sms-segments.ts";
import type { TextReply } from "../../src/plugin-api/index.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { type HandleHostCall, type InlinePlugin, runInline } from "./inline-plugin.ts";
import { openTestSmppServer, type SmppRules, type TestSmppServer } from "./smpp-server.ts";
import { SMS_DEFAULTS, textTo } from "./sms-config.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function open(rules?: SmppRules): Promise<TestSmppServer> {
  const server = await openTestSmppServer(rules);
  closing.push(server.close);
  return server;
}

const USUAL = {
  ...SMS_DEFAULTS,
  gatewayBody: '{"to": "{{to}}", "from": "{{sender}}", "text": "{{text}}"}',
  ...{ receiptId: "id", receiptArrived: "delivered,DELIVRD", receiptLost: "failed,UNDELIV" },
  ...{ inboundFrom: "from", inboundText: "text" },
};

async function run(config: object, answer?: HandleHostCall): Promise<InlinePlugin> {
  const started = await runInline(plugin, { config: { ...USUAL, ...config }, ...(answer ? { answer } : {}) });
  closing.push(() => started.close());
  return started;
}

async function bound(config: object, answer?: HandleHostCall): Promise<InlinePlugin> {
  const sms = await run(config, answer);
  await sms.said(({ state }) => state === "ok");
  return sms;
}

const saidIn = ({ short_message }: Pdu): string => String(short_message?.message ?? "");
const receiptFor = (name: string, state: string) => ({
  esm_class: 4,
  source_addr: "4917012345",
  short_message: `id:${name} sub:001 dlvrd:001 submit date:2611220700 done date:2611220701 stat:${state} err:000 text:`,
});

describe("sms by SMPP", () => {
  it("sends response options by number, and reports the receipt", async () => {
    const server = await open({ password: "sesame" });
    const sms = await bound({ port: server.port });
    const answers = { options: ["Safe", "Need help"], url: "https://bells.example.org/answer/00" };
    const recipient = { id: "0198f3a0-0000-7000-8000-0000000000aa", name: "Ada", answers };
    sms.deliver(textTo(1, "+49 170 12345", "Leave now", { recipient }), textTo(2, "+4917012346", "Leave now"));
    await sms.outcome(2, "sent");
    const [first] = server.submitted;
    expect(first).toMatchObject({ destination_addr: "4917012345", source_addr: "15550100", registered_delivery: 1 });
    expect(saidIn(first as Pdu)).toBe("Fire\nLeave now\nReply 1 = Safe, 2 = Need help");
    expect(sms.levels(1)).toEqual(["sent"]);
    server.deliver(receiptFor("m1", "DELIVRD"));
    expect(await sms.outcome(1, "accepted")).toMatchObject({ details: { afterwards: true } });
    // Receipts come when a handset is switched on, long after the message has ended.
    sms.stop("expired", 2);
    server.deliver(receiptFor("m2", "UNDELIV"));
    expect(await sms.outcome(2, "failed")).toMatchObject({
      details: { reason: expect.stringContaining("UNDELIV"), retryable: false, returned: true },
    });
  });

  it("splits long texts into segments, and waits for all receipts", async () => {
    const server = await open();
    const sms = await bound({ port: server.port });
    sms.deliver(textTo(1, "+4917012345", "ä€".repeat(80)));
    await sms.outcome(1, "sent");
    expect(server.submitted.length).toBe(2);
    expect(server.submitted.map(({ short_message }) => [...(short_message?.udh?.[0] ?? [])])).toEqual([
      [0, 3, 1, 2, 1],
      [0, 3, 1, 2, 2],
    ]);
    expect(server.submitted.map(saidIn).join("")).toBe(`Fire\n${"ä€".repeat(80)}`);
    server.deliver(receiptFor("m2", "DELIVRD"));
    server.deliver(receiptFor("m1", "DELIVRD"));
    await sms.outcome(1, "accepted");
  });

  it("encodes long texts as configured", async () => {
    const server = await open();
    const numbered = await bound({ port: server.port, longTexts: "numbered" });
    numbered.deliver(textTo(1, "+4917012345", "ж".repeat(100)));
    await numbered.outcome(1, "sent");
    const numbers = { sar_total_segments: 2, data_coding: 8 };
    expect(server.submitted).toMatchObject([
      { ...numbers, sar_segment_seqnum: 1 },
      { ...numbers, sar_segment_seqnum: 2 },
    ]);
    expect(server.submitted.map(saidIn).join("")).toBe(`Fire\n${"ж".repeat(100)}`);
    const whole = await bound({ port: server.port, longTexts: "whole" });
    whole.deliver(textTo(2, "+4917012345", "ж".repeat(100)));
    await whole.outcome(2, "sent");
    expect(server.submitted.length).toBe(3);
    expect(server.submitted[2]?.message_payload?.message).toBe(`Fire\n${"ж".repeat(100)}`);
    server.deliver(receiptFor("m3", "DELIVRD"));
    await whole.outcome(2, "accepted");
  });

  it("answers enquire_link, and has messages resent that cannot be stored", async () => {
    const server = await open();
    const replies = [new Error("the disk is full"), { kind: "stopped" } as const];
    await bound({ port: server.port }, ({ method }) => (method === "receive" ? replies.shift() : undefined));
    expect(await server.ask("enquire_link", {})).toBe(0);
    const message = { source_addr: "4917012345", short_message: "STOP" };
    expect(await server.ask("deliver_sm", message)).toBe(smpp.errors.ESME_RX_T_APPN);
    expect(await server.ask("deliver_sm", message)).toBe(0);
  });

  it("distinguishes permanent from temporary refusals", async () => {
    const { ESME_RTHROTTLED, ESME_RINVDSTADR } = smpp.errors;
    const server = await open({
      verdict: ({ destination_addr }) => (destination_addr === "100" ? ESME_RINVDSTADR : ESME_RTHROTTLED) as number,
    });
    const sms = await bound({ port: server.port });
    sms.deliver(textTo(1, "100", "x"), textTo(2, "+4917012346", "x"), textTo(3, "not a number", "x"));
    const [wrong, busy, none] = await Promise.all([1, 2, 3].map((each) => sms.outcome(each, "failed")));
    expect(wrong).toMatchObject({ details: { reason: expect.stringContaining("RINVDSTADR"), retryable: false } });
    expect(busy).toMatchObject({ details: { reason: expect.stringContaining("RTHROTTLED"), retryable: true } });
    expect(none).toMatchObject({
      details: { reason: "the device identifier must be a telephone number", retryable: false },
    });
  });

  it("reports a refused bind, and fails messages as retryable", async () => {
    const server = await open({ password: "other" });
    const sms = await run({ port: server.port });
    expect(await sms.said(({ state }) => state === "down")).toMatchObject({
      reason: expect.stringContaining("bind refused (ESME_RBINDFAIL)"),
    });
    sms.deliver(textTo(1, "+4917012345", "x"));
    expect(await sms.outcome(1, "failed")).toMatchObject({ details: { retryable: true } });
    const cut = await open();
    const other = await bound({ port: cut.port });
    cut.cut();
    await other.said(({ state }) => state === "down");
  });

  it("passes on inbound messages and replies, but not endlessly to machines", async () => {
    const server = await open();
    const replies: TextReply[] = [{ kind: "answered", option: "Safe" }, { kind: "unknown" }, { kind: "unknown" }];
    const heard: unknown[] = [];
    const sms = await bound({ port: server.port }, ({ method, args }) => {
      if (method !== "receive") return undefined;
      heard.push(args[0]);
      return replies[heard.length - 1] ?? { kind: "stopped" };
    });
    for (const text of ["1", "what?", "what??"]) server.deliver({ source_addr: "4917012345", short_message: text });
    server.deliver({ source_addr: "ACME", short_message: "Buy now" });
    server.deliver({ source_addr: "4917012345", short_message: "STOP" });
    await sms.called(4);
    await server.came(3);
    expect(heard).toEqual(["1", "what?", "what??", "STOP"].map((text) => ({ from: "4917012345", text })));
    expect(server.submitted.map(saidIn)).toEqual([
      "Thank you. Your response is: Safe",
      "Your message was not understood. Send STOP to end all text messages.",
      "You will get no more text messages. Send START to resume.",
    ]);
    expect(server.submitted.every(({ registered_delivery }) => registered_delivery === 0)).toBe(true);
  });
});

describe("sms by HTTP", () => {
  it("posts templates to a gateway, and interprets its responses", async () => {
    const posted: { url: string; authorization: unknown; body: string }[] = [];
    const gateway = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on("data", (part: Buffer) => parts.push(part));
      request.on("end", () => {
        const body = Buffer.concat(parts).toString();
        posted.push({ url: request.url ?? "", authorization: request.headers.authorization, body });
        response.writeHead(body.includes("+491") ? 202 : 422).end("no such number");
      });
    });
    await new Promise<void>((resolve) => gateway.listen(0, "127.0.0.1", resolve));
    closing.push(() => new Promise((resolve) => gateway.close(() => resolve())));
    const gatewayUrl = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}/send?ref={{id}}`;
    const started = await runInline(plugin, {
      config: { ...USUAL, transport: "http", gatewayUrl, gatewayAuthorization: "Bearer g", host: null },
      allowedTargets: ["127.0.0.0/8"],
    });
    closing.push(() => started.close());
    started.deliver(textTo(7, "+4917012345", 'Say "leave"\nnow'), textTo(8, "100", "x"));
    await started.outcome(7, "accepted");
    expect(await started.outcome(8, "failed")).toMatchObject({
      details: { reason: "the gateway responded with HTTP 422: no such number", retryable: false },
    });
    const first = posted.find(({ url }) => url === "/send?ref=7");
    expect(first?.authorization).toBe("Bearer g");
    expect(JSON.parse(first?.body ?? "")).toEqual({
      to: "+4917012345",
      from: "+15550100",
      text: 'Fire\nSay "leave"\nnow',
    });
  });

  it("matches gateway receipts by its id or ours", async () => {
    const gateway = createServer((_, response) => response.end('{"messages": [{"id": 4711}]}'));
    await new Promise<void>((resolve) => gateway.listen(0, "127.0.0.1", resolve));
    closing.push(() => new Promise((resolve) => gateway.close(() => resolve())));
    const gatewayUrl = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}/`;
    const told = { transport: "http", gatewayUrl, inboundToken: "t0ken", receiptState: "status", receiptId: "ref" };
    const start = async (config: object): Promise<InlinePlugin> => {
      const allowedTargets = ["127.0.0.0/8"];
      const started = await runInline(plugin, { config: { ...USUAL, ...told, ...config }, allowedTargets });
      closing.push(() => started.close());
      return started;
    };
    const byTheirs = await start({ gatewayAnswerId: "messages.0.id" });
    byTheirs.deliver(textTo(7, "+4917012345", "x"));
    await byTheirs.outcome(7, "sent");
    const tell = async (sms: InlinePlugin, query: string): Promise<number> =>
      (await sms.request({ url: `/receipts?${query}`, method: "GET" })).status;
    expect(await tell(byTheirs, "token=guess&ref=4711&status=delivered")).toBe(401);
    expect(await tell(byTheirs, "token=t0ken&ref=4711")).toBe(400);
    for (const state of ["queued", "Delivered"])
      expect(await tell(byTheirs, `token=t0ken&ref=4711&status=${state}`)).toBe(204);
    await byTheirs.outcome(7, "accepted");
    expect(byTheirs.levels(7)).toEqual(["sent", "accepted"]);
    const byOurs = await start({});
    expect(await tell(byOurs, "token=t0ken&ref=9&status=failed")).toBe(204);
    expect(await byOurs.outcome(9, "failed")).toMatchObject({
      details: { reason: "delivery failed at the provider (failed)", returned: true },
    });
  });

  it("requires the token for inbound messages", async () => {
    const heard: unknown[] = [];
    const answer: HandleHostCall = ({ method, args }) => {
      if (method === "receive") heard.push(args[0]);
      return { kind: "joined", list: "Choir" };
    };
    const config = { transport: "http", gatewayUrl: "http://127.0.0.1:9/", inboundToken: "t0ken" };
    const sms = await run(config, answer);
    const body = Buffer.from(JSON.stringify({ from: "+4917012345", text: "choir" }));
    const headers = { "content-type": "application/json" };
    expect((await sms.request({ url: "/inbound?token=t0ken", headers, body })).status).toBe(204);
    const form = Buffer.from("from=%2B4917012346&text=choir");
    const bearer = { authorization: "Bearer t0ken" };
    expect((await sms.request({ url: "/inbound", headers: bearer, body: form })).status).toBe(204);
    expect((await sms.request({ url: "/inbound?token=guess", headers, body })).status).toBe(401);
    expect((await sms.request({ url: "/inbound?token=t0ken", body: Buffer.from("x=1") })).status).toBe(400);
    expect(heard).toEqual([
      { from: "+4917012345", text: "choir" },
      { from: "+4917012346", text: "choir" },
    ]);
    const closed = await run({ ...config, inboundToken: null }, answer);
    expect((await closed.request({ url: "/inbound?token=", headers, body })).status).toBe(401);
  });
});

describe("segments of a text", () => {
  it.each([
    ["a".repeat(160), 0, [160]],
    ["a".repeat(161), 0, [153, 8]],
    [`${"a".repeat(152)}€${"b".repeat(10)}`, 0, [152, 12]],
    ["ж".repeat(70), 8, [140]],
    ["ж".repeat(71), 8, [134, 8]],
    [`${"ж".repeat(66)}🔔${"ж".repeat(10)}`, 8, [132, 24]],
  ])("%#: stay whole", (text, coding, lengths) => {
    const parts = segmentText(text, 4);
    expect(parts.map((part) => part.octets.length)).toEqual(lengths);
    expect(parts.every((part) => part.coding === coding)).toBe(true);
  });

  it("are limited, with an ellipsis", () => {
    expect(segmentText("a".repeat(1_000), 2)[1]?.octets.subarray(-4).toString()).toBe("a...");
    const cut = segmentText("ж".repeat(1_000), 2);
    expect(cut.length).toBe(2);
    expect(cut[1]?.octets.subarray(-2).readUInt16BE()).toBe("…".codePointAt(0));
  });
});

describe("receipts", () => {
  it("are parsed from parameters or text, also before the submit response", () => {
    expect(parseDeliveryReceipt({}, "id:abc sub:001 dlvrd:001 stat:DELIVRD err:000")).toEqual({
      name: "abc",
      arrived: true,
      state: "DELIVRD",
    });
    expect(parseDeliveryReceipt({ receipted_message_id: "x", message_state: 5 }, "")).toMatchObject({
      name: "x",
      arrived: false,
    });
    expect(parseDeliveryReceipt({}, "id:abc stat:ENROUTE")).toMatchObject({ arrived: null });
    const told: [number, string | null][] = [];
    const clock = createFakeClock();
    const receipts = createReceiptTracker(clock, (id, fault) => void told.push([id, fault]));
    receipts.handle({ name: "early", arrived: true, state: "DELIVRD" });
    receipts.expect(1, ["early"]);
    receipts.expect(2, ["a", "b"]);
    receipts.handle({ name: "a", arrived: true, state: "DELIVRD" });
    expect(told).toEqual([[1, null]]);
    receipts.handle({ name: "b", arrived: false, state: "REJECTD" });
    expect(told[1]).toEqual([2, "delivery failed at the provider (REJECTD)"]);
  });

  it("match decimal and hexadecimal ids, and expire", async () => {
    const clock = createFakeClock();
    const told: number[] = [];
    const receipts = createReceiptTracker(clock, (id) => void told.push(id));
    receipts.expect(1, ["1A2B"]);
    receipts.handle({ name: "6699", arrived: true, state: "DELIVRD" });
    receipts.expect(2, ["old"]);
    await clock.advance(5 * 86_400_000);
    receipts.expect(3, ["new"]);
    for (const name of ["old", "new"]) receipts.handle({ name, arrived: true, state: "DELIVRD" });
    expect(told).toEqual([1, 3]);
  });
});
