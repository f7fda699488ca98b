import { createHash, createHmac, generateKeyPairSync, sign } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import { judgeResponse, UNKNOWN_GATEWAY } from "../../plugins/sms/gateway-responses.ts";
import { parseGatewayBody, valuesAt } from "../../plugins/sms/gateway-values.ts";
import plugin from "../../plugins/sms/index.ts";
import type { PluginRequest } from "../../src/plugin-api/index.ts";
import { type HandleHostCall, type InlinePlugin, runInline } from "./inline-plugin.ts";
import { SMS_DEFAULTS, textTo } from "./sms-config.ts";
import {
  type GatewayPeer,
  type GatewayPeerRequest,
  type GatewayPeerResponse,
  openGatewayPeer,
} from "./sms-gateway-peer.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const NUMBER = "+4915112345678";
const PAGE = "<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body>OK</body></html>";

async function start(
  config: object,
  respond: (request: GatewayPeerRequest) => GatewayPeerResponse,
  answer?: HandleHostCall,
): Promise<{ sms: InlinePlugin; gateway: GatewayPeer }> {
  const gateway = await openGatewayPeer(respond);
  closing.push(gateway.close);
  const usual = {
    ...SMS_DEFAULTS,
    transport: "http",
    gatewayUrl: gateway.url,
    gatewayUser: "acc",
    gatewayPassword: "s3cret!",
  };
  const sms = await runInline(plugin, {
    config: { ...usual, ...config },
    allowedTargets: ["127.0.0.0/8"],
    ...(answer ? { answer } : {}),
  });
  closing.push(() => sms.close());
  return { sms, gateway };
}

type Expected = { reason: string | RegExp; retryable: boolean } | "accepted";

/** Responses of gateways: settings, response, and what it means. */
const RESPONSES: [string, object, GatewayPeerResponse, Expected][] = [
  [
    "an unknown gateway that refuses with 200",
    {},
    { body: '{"message-count":"1","messages":[{"status":"4","error-text":"Bad Credentials"}]}' },
    { reason: "the gateway refused the message: Bad Credentials", retryable: true },
  ],
  [
    "an unknown gateway that accepts",
    {},
    { body: '{"message-count":"1","messages":[{"status":"0","message-id":"1"}]}' },
    "accepted",
  ],
  ["no body at all", {}, { status: 204, body: "" }, "accepted"],
  [
    "a web page",
    {},
    { body: PAGE },
    { reason: "the gateway sent a web page (Sign in) instead of a result", retryable: true },
  ],
  [
    "success: false",
    {},
    { body: '{"success":false,"message":"Invalid recipient"}' },
    { reason: /Invalid recipient/, retryable: false },
  ],
  ["a failed state", {}, { body: '{"status":"failed"}' }, { reason: /failed/, retryable: false }],
  ["empty errors", {}, { body: '{"sid":"1","error":null,"errors":[],"error_code":0,"error_message":""}' }, "accepted"],
  [
    "a nested error",
    {},
    { body: '{"data":{"items":[{"id":1},{"error":{"code":7,"description":"No route"}}]}}' },
    { reason: /No route/, retryable: false },
  ],
  ["ERR as text", {}, { body: "ERR 100\n" }, { reason: "the gateway refused the message: ERR 100", retryable: false }],
  ["OK as text", {}, { body: "OK: 4711" }, "accepted"],
  ["a negative number", {}, { body: "-7 insufficient credit" }, { reason: /insufficient credit/, retryable: true }],
  [
    "XML with an error",
    {},
    { body: '<?xml version="1.0"?><response><error code="12">Number &amp; prefix unknown</error></response>' },
    { reason: /Number & prefix unknown/, retryable: false },
  ],
  ["XML that accepts", {}, { body: "<response><status>0</status><id>1</id></response>" }, "accepted"],
  ["busy", {}, { body: '{"error":"Too many requests, try again later"}' }, { reason: /Too many/, retryable: true }],
  [
    "a configured path in XML",
    { gatewaySuccessPath: "response.status", gatewaySuccessPattern: "^1$", gatewayReasonPath: "response.text" },
    { body: "<response><status>9</status><text>No such account</text></response>" },
    { reason: "the gateway refused the message: No such account (9)", retryable: false },
  ],
  [
    "a configured path that is missing",
    { gatewaySuccessPath: "result.id" },
    { body: '{"result":{}}' },
    { reason: 'the gateway refused the message: {"result":{}}', retryable: false },
  ],
  [
    "an empty body where a result is configured",
    { gatewaySuccessPath: "id" },
    { body: "" },
    { reason: /an empty response/, retryable: true },
  ],
  [
    "a web page where a result is configured",
    { gatewaySuccessPattern: "^OK" },
    { body: PAGE },
    { reason: /a web page/, retryable: true },
  ],
  ["a configured pattern", { gatewaySuccessPattern: "^queued" }, { body: "Queued as 12" }, "accepted"],
  [
    "some refused recipients",
    { gatewaySuccessPath: "results.*.status", gatewaySuccessPattern: "^ok$" },
    { body: '{"results":[{"status":"ok"},{"status":"blocked","message":"Recipient blocked"}]}' },
    { reason: /refused 1 of 2 parts of the message: Recipient blocked/, retryable: false },
  ],
  [
    "a configured status",
    { gatewaySuccessStatus: "202" },
    { status: 200, body: "{}" },
    { reason: /HTTP 200/, retryable: false },
  ],
  [
    "429 with a pause",
    {},
    { status: 429, headers: { "retry-after": "7" }, body: '{"message":"Slow down"}' },
    { reason: "the gateway responded with HTTP 429: Slow down", retryable: true },
  ],
  [
    "404 with a page",
    {},
    { status: 404, body: PAGE },
    { reason: "the gateway responded with HTTP 404: a web page (Sign in)", retryable: false },
  ],
  [
    "the password in an error",
    {},
    { body: '{"error":"wrong secret s3cret!"}' },
    { reason: "the gateway refused the message: wrong secret …", retryable: false },
  ],
  // Providers.
  [
    "vonage",
    { provider: "vonage" },
    { body: '{"messages":[{"status":"4","error-text":"Bad Credentials"}]}' },
    { reason: "the gateway refused the message: Bad Credentials (4)", retryable: true },
  ],
  [
    "vonage, throttled",
    { provider: "vonage" },
    { body: '{"messages":[{"status":"1","error-text":"Throttled"}]}' },
    { reason: /Throttled/, retryable: true },
  ],
  [
    "vonage, wrong number",
    { provider: "vonage" },
    { body: '{"messages":[{"status":"0","message-id":"a"},{"status":"3","error-text":"Invalid to"}]}' },
    { reason: /1 of 2 parts of the message: Invalid to/, retryable: false },
  ],
  ["vonage, accepted", { provider: "vonage" }, { body: '{"messages":[{"status":"0","message-id":"a"}]}' }, "accepted"],
  [
    "twilio",
    { provider: "twilio" },
    { status: 400, body: '{"code":21211,"message":"Invalid \'To\' Phone Number","status":400}' },
    { reason: "the gateway responded with HTTP 400: Invalid 'To' Phone Number", retryable: false },
  ],
  [
    "twilio, failed at once",
    { provider: "twilio" },
    { status: 201, body: '{"sid":"SM1","status":"failed","error_message":"Blocked"}' },
    { reason: /Blocked \(failed\)/, retryable: false },
  ],
  [
    "twilio, queued",
    { provider: "twilio" },
    { status: 201, body: '{"sid":"SM1","status":"queued","error_code":null}' },
    "accepted",
  ],
  [
    "sinch",
    { provider: "sinch" },
    { status: 403, body: '{"code":"unauthorized","text":"Forbidden"}' },
    { reason: "the gateway responded with HTTP 403: Forbidden", retryable: true },
  ],
  ["sinch, accepted", { provider: "sinch" }, { status: 201, body: '{"id":"01FC","canceled":false}' }, "accepted"],
  [
    "messagebird",
    { provider: "messagebird" },
    { status: 422, body: '{"errors":[{"code":9,"description":"no (correct) recipients found"}]}' },
    { reason: /no \(correct\) recipients found/, retryable: false },
  ],
  [
    "messagebird, refused recipient",
    { provider: "messagebird" },
    { body: '{"id":"e8","recipients":{"items":[{"recipient":491,"status":"delivery_failed"}]}}' },
    { reason: /delivery_failed/, retryable: false },
  ],
  [
    "plivo",
    { provider: "plivo" },
    { status: 202, body: '{"message":"message(s) queued","message_uuid":["u1"]}' },
    "accepted",
  ],
  [
    "plivo, without an id",
    { provider: "plivo" },
    { status: 202, body: '{"error":"dst is invalid"}' },
    { reason: /dst is invalid/, retryable: false },
  ],
  [
    "telnyx",
    { provider: "telnyx" },
    { body: '{"data":{"id":"t1","to":[{"status":"queued"}],"errors":[]}}' },
    "accepted",
  ],
  [
    "telnyx, refused",
    { provider: "telnyx" },
    { status: 422, body: '{"errors":[{"code":"40300","title":"Blocked","detail":"Blocked due to STOP message"}]}' },
    { reason: /Blocked due to STOP message/, retryable: false },
  ],
  ["kannel, accepted", { provider: "kannel" }, { status: 202, body: "0: Accepted for delivery" }, "accepted"],
  ["kannel, queued", { provider: "kannel" }, { status: 202, body: "3: Queued for later delivery" }, "accepted"],
  [
    "kannel, authorization",
    { provider: "kannel" },
    { body: "Authorization failed for sendsms" },
    { reason: "the gateway refused the message: Authorization failed for sendsms", retryable: true },
  ],
  [
    "kannel, no route",
    { provider: "kannel" },
    { body: "Not routable. Do not try again." },
    { reason: /Not routable/, retryable: true },
  ],
  ["playsms, ERR 100", { provider: "playsms" }, { body: "ERR 100" }, { reason: /ERR 100/, retryable: true }],
  [
    "playsms, JSON",
    { provider: "playsms" },
    { body: '{"status":"ERR","error":"102","error_string":"missing parameter"}' },
    { reason: /missing parameter/, retryable: false },
  ],
  [
    "playsms, one of two",
    { provider: "playsms" },
    { body: '{"data":[{"status":"OK","error":"0"},{"status":"ERR","error":"103"}]}' },
    { reason: /refused/, retryable: false },
  ],
  [
    "playsms, accepted",
    { provider: "playsms" },
    { body: '{"data":[{"status":"OK","error":"0","smslog_id":"1"}],"error_string":null}' },
    "accepted",
  ],
  [
    "gammu",
    { provider: "gammu" },
    { body: '{"status":500,"message":"No SIM"}' },
    { reason: /No SIM/, retryable: false },
  ],
  [
    "sms-gate",
    { provider: "sms-gate" },
    { status: 202, body: '{"id":"P1","state":"Pending","recipients":[{"phoneNumber":"+49","state":"Pending"}]}' },
    "accepted",
  ],
  [
    "sms-gate, failed",
    { provider: "sms-gate" },
    { status: 202, body: '{"id":"P1","state":"Failed","recipients":[{"state":"Failed","error":"No service"}]}' },
    { reason: /No service/, retryable: false },
  ],
  [
    "httpsms",
    { provider: "httpsms" },
    { body: '{"status":"success","message":"added","data":{"id":"h1"}}' },
    "accepted",
  ],
  [
    "textbee",
    { provider: "textbee" },
    { body: '{"data":{"success":false,"message":"Device offline"}}' },
    { reason: /Device offline/, retryable: false },
  ],
  ["traccar", { provider: "traccar" }, { body: "" }, "accepted"],
];

describe("responses of gateways", () => {
  it.each(RESPONSES)("%s", async (_, config, response, expected) => {
    const { sms } = await start(config, () => response);
    sms.deliver(textTo(1, NUMBER, "Leave"));
    if (expected === "accepted") return void (await sms.outcome(1, "accepted"));
    const { details } = await sms.outcome(1, "failed");
    expect(details).toMatchObject({ retryable: expected.retryable });
    expect(details.reason).toMatch(expected.reason);
    if (response.headers) expect(details.retryAfterMs).toBe(7_000);
  });

  it("are parsed within bounds, whatever they contain", () => {
    const judge = (body: string) => judgeResponse({ status: 200, headers: {}, body }, UNKNOWN_GATEWAY, 0).accepted;
    expect(judge(`${"[".repeat(100_000)}`)).toBe(true);
    expect(judge(JSON.stringify(Array.from({ length: 20_000 }, (_, id) => ({ id }))))).toBe(true);
    expect(judge('{"__proto__":{"error":"x"},"constructor":1}')).toBe(false);
    expect(valuesAt({ a: [{ b: 1 }, { b: [2] }] }, "a.*.b.*")).toEqual(["1", "2"]);
    expect(valuesAt(JSON.parse("{}"), "constructor.name")).toEqual([]);
    expect(parseGatewayBody('<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>').kind).not.toBe("json");
  });

  it("need a valid pattern", async () => {
    const { sms } = await start({ gatewaySuccessPattern: "(" }, () => ({ body: "" }));
    expect(await sms.said(({ state }) => state === "unconfigured")).toMatchObject({
      reason: expect.stringContaining("gatewaySuccessPattern is invalid"),
    });
  });
});

describe("requests to providers", () => {
  it.each([
    [
      { provider: "twilio", sender: "+15550100" },
      {
        path: "/Accounts/acc/Messages.json",
        body: /^To=%2B4915112345678&From=%2B15550100&Body=Fire%0ALeave&StatusCallback=/,
      },
      `Basic ${Buffer.from("acc:s3cret!").toString("base64")}`,
    ],
    [
      { provider: "vonage" },
      {
        path: "/sms/json",
        body: /to=4915112345678&from=15550100&text=Fire%0ALeave&type=text&status-report-req=1&callback=/,
      },
      undefined,
    ],
    [
      { provider: "sinch" },
      { path: "/acc/batches", body: /"to":\["\+4915112345678"\].*"delivery_report":"per_recipient"/ },
      "Bearer s3cret!",
    ],
    [{ provider: "messagebird" }, { path: "/messages", body: /"recipients":\["4915112345678"\]/ }, "AccessKey s3cret!"],
    [
      { provider: "plivo" },
      { path: "/Account/acc/Message/", body: /"dst":"4915112345678"/ },
      `Basic ${Buffer.from("acc:s3cret!").toString("base64")}`,
    ],
    [{ provider: "telnyx" }, { path: "/messages", body: /"webhook_url":"http/ }, "Bearer s3cret!"],
    [
      { provider: "sms-gate" },
      { path: "/messages", body: /"phoneNumbers":\["\+4915112345678"\],"withDeliveryReport":true/ },
      `Basic ${Buffer.from("acc:s3cret!").toString("base64")}`,
    ],
    [{ provider: "traccar" }, { path: "/", body: /^{"to":"\+4915112345678","message":"Fire\\nLeave"}$/ }, "s3cret!"],
  ])("%o", async (config, { path, body }, authorization) => {
    const { sms, gateway } = await start({ inboundToken: "t0ken", ...config }, () => ({ body: "{}" }));
    sms.deliver(textTo(7, NUMBER, "Leave"));
    await sms.answered(7);
    expect(gateway.requests[0]).toMatchObject({ method: "POST", path, body: expect.stringMatching(body) });
    expect(gateway.requests[0]?.headers.authorization).toBe(authorization);
  });

  it("use GET with the receipt URL", async () => {
    const { sms, gateway } = await start({ provider: "kannel", inboundToken: "t0ken" }, () => ({
      body: "0: Accepted for delivery",
    }));
    sms.deliver(textTo(7, NUMBER, "Ж & more"));
    await sms.outcome(7, "sent");
    expect(gateway.requests[0]).toMatchObject({
      method: "GET",
      path: "/cgi-bin/sendsms",
      query: {
        ...{ username: "acc", password: "s3cret!", from: "+15550100", to: NUMBER, text: "Fire\nЖ & more", coding: "2" },
        "dlr-mask": "31",
        "dlr-url": expect.stringMatching(/\/x\/sms\/receipts\?token=t0ken&delivery=7&status=%d&answer=%A$/),
      },
    });
  });

  it("use GET with headers of the settings", async () => {
    const gateway = await openGatewayPeer(() => ({ body: "OK" }));
    closing.push(gateway.close);
    const config = {
      gatewayUrl: `${gateway.url}/send?u={{user}}&p={{password}}&to={{to}}&text={{text}}`,
      ...{ gatewayMethod: "GET", gatewayHeader: "X-API-Key: k3y" },
    };
    const { sms } = await start(config, () => ({ body: "" }));
    sms.deliver(textTo(7, NUMBER, "a&b"));
    await sms.outcome(7, "accepted");
    expect(gateway.requests).toMatchObject([
      {
        ...{ method: "GET", body: "", query: { u: "acc", p: "s3cret!", to: NUMBER, text: "Fire\na&b" } },
        headers: { "x-api-key": "k3y" },
      },
    ]);
  });

  it("need a password and, for local gateways, a URL", async () => {
    const { sms } = await start({ provider: "kannel", gatewayUrl: null }, () => ({ body: "" }));
    expect(await sms.said(({ state }) => state === "unconfigured")).toMatchObject({
      reason: "gatewayUrl must be set for kannel",
    });
    const other = await start({ provider: "twilio", gatewayPassword: null }, () => ({ body: "" }));
    expect(await other.sms.said(({ state }) => state === "unconfigured")).toMatchObject({
      reason: "gatewayPassword must be set for twilio",
    });
  });
});

const json = (value: unknown): Partial<PluginRequest> => ({
  headers: { "content-type": "application/json" },
  body: Buffer.from(JSON.stringify(value)),
});
const form = (text: string): Partial<PluginRequest> => ({
  headers: { "content-type": "application/x-www-form-urlencoded" },
  body: Buffer.from(text),
});

describe("a code that proves a number", () => {
  const CODE = { name: "", subject: "Join Snow?", text: "123456 is your code", language: "en" as const };

  it("is sent as it is, without a receipt", async () => {
    const { sms, gateway } = await start({ provider: "kannel", inboundToken: "t0ken" }, () => ({
      body: "0: Accepted for delivery",
    }));
    expect(await sms.accountMessage({ ...CODE, to: NUMBER })).toBeNull();
    expect(gateway.requests[0]?.query).toMatchObject({ to: NUMBER, text: "123456 is your code" });
    expect(gateway.requests[0]?.query).not.toHaveProperty("dlr-url");
  });

  it.each([
    ["no number", "office"],
    ["a premium number", "+499001123456"],
    ["a number outside the allowed prefixes", "+4366012345678"],
  ])("is not sent to %s", async (_what, to) => {
    const { sms, gateway } = await start({ provider: "kannel", allowedPrefixes: "+49" }, () => ({ body: "0: OK" }));
    expect(await sms.accountMessage({ ...CODE, to })).toEqual(expect.any(String));
    expect(gateway.requests).toEqual([]);
  });
});

describe("receipts of providers", () => {
  it.each([
    ["twilio", '{"sid":"SM1","status":"queued"}', form("MessageSid=SM1&MessageStatus=delivered"), "accepted", null],
    [
      "twilio",
      '{"sid":"SM1","status":"queued"}',
      form("MessageSid=SM1&MessageStatus=undelivered&ErrorCode=30005"),
      "failed",
      "undelivered, 30005",
    ],
    ["twilio", '{"sid":"SM1","status":"queued"}', form("MessageSid=SM1&MessageStatus=sent"), null, null],
    [
      "vonage",
      '{"messages":[{"status":"0","message-id":"0A00"}]}',
      json({ messageId: "0A00", status: "expired", "err-code": "6" }),
      "failed",
      "expired, 6",
    ],
    [
      "vonage",
      '{"messages":[{"status":"0","message-id":"0A00"}]}',
      json({ messageId: "0A00", status: "buffered" }),
      null,
      null,
    ],
    [
      "sinch",
      '{"id":"b1"}',
      json({ type: "recipient_delivery_report_sms", batch_id: "b1", recipient: NUMBER, code: 0, status: "Delivered" }),
      "accepted",
      null,
    ],
    [
      "sinch",
      '{"id":"b1"}',
      json({
        type: "delivery_report_sms",
        batch_id: "b1",
        statuses: [{ code: 402, status: "Aborted", recipients: [NUMBER] }],
      }),
      "failed",
      "Aborted, 402",
    ],
    [
      "messagebird",
      '{"id":"e8","recipients":{"items":[{"status":"sent"}]}}',
      { method: "GET", query: "&id=e8&status=delivery_failed&statusReason=unknown+subscriber" },
      "failed",
      "delivery_failed, unknown subscriber",
    ],
    ["plivo", '{"message_uuid":["u1"]}', form("MessageUUID=u1&Status=delivered"), "accepted", null],
    [
      "telnyx",
      '{"data":{"id":"t1","to":[{"status":"queued"}]}}',
      json({
        data: {
          event_type: "message.finalized",
          payload: { id: "t1", to: [{ status: "delivery_failed" }], errors: [{ title: "Unreachable" }] },
        },
      }),
      "failed",
      "delivery_failed, Unreachable",
    ],
    ["kannel", "0: Accepted for delivery", { method: "GET", query: "&delivery=1&status=1" }, "accepted", null],
    [
      "kannel",
      "0: Accepted for delivery",
      { method: "GET", query: "&delivery=1&status=16&answer=NACK" },
      "failed",
      "16, NACK",
    ],
    ["kannel", "0: Accepted for delivery", { method: "GET", query: "&delivery=1&status=8" }, null, null],
    [
      "sms-gate",
      '{"id":"P1","recipients":[{"state":"Pending"}]}',
      json({ event: "sms:failed", payload: { messageId: "P1", reason: "no service" } }),
      "failed",
      "sms:failed, no service",
    ],
    [
      "httpsms",
      '{"status":"success","data":{"id":"h1"}}',
      json({ type: "message.phone.delivered", data: { id: "h1" } }),
      "accepted",
      null,
    ],
  ] as [string, string, Partial<PluginRequest> & { query?: string }, "accepted" | "failed" | null, string | null][])(
    "%s: %s",
    async (provider, body, { query = "", ...request }, expected, reason) => {
      const { sms } = await start({ provider, inboundToken: "t0ken" }, () => ({ body }));
      sms.deliver(textTo(1, NUMBER, "x"));
      await sms.outcome(1, "sent");
      expect((await sms.request({ url: `/receipts?token=guess${query}`, ...request })).status).toBe(401);
      expect((await sms.request({ url: `/receipts?token=t0ken${query}`, ...request })).status).toBe(204);
      if (expected !== null) await sms.outcome(1, expected);
      const levels = expected === null ? ["sent"] : ["sent", expected];
      expect(sms.levels(1)).toEqual(levels);
      if (reason !== null)
        expect((await sms.outcome(1, "failed")).details.reason).toBe(`delivery failed at the provider (${reason})`);
    },
  );

  it("count after a restart if their URL names the delivery", async () => {
    const { sms } = await start({ provider: "twilio", inboundToken: "t0ken" }, () => ({ body: "{}" }));
    const url = "/receipts?token=t0ken&delivery=99";
    expect((await sms.request({ url, ...form("MessageSid=SM9&MessageStatus=delivered&delivery=5") })).status).toBe(204);
    await sms.outcome(99, "accepted");
    expect(sms.levels(5)).toEqual([]);
  });
});

describe("inbound messages of providers", () => {
  it.each([
    ["twilio", form("From=%2B4915112345678&Body=STOP")],
    ["vonage", json({ msisdn: NUMBER, text: "STOP" })],
    ["sinch", json({ type: "mo_text", from: NUMBER, body: "STOP" })],
    ["plivo", form("From=%2B4915112345678&Text=STOP")],
    [
      "telnyx",
      json({ data: { event_type: "message.received", payload: { from: { phone_number: NUMBER }, text: "STOP" } } }),
    ],
    ["sms-gate", json({ event: "sms:received", payload: { phoneNumber: NUMBER, message: "STOP" } })],
    ["httpsms", json({ type: "message.phone.received", data: { contact: NUMBER, content: "STOP" } })],
    ["textbee", json({ webhookEvent: "MESSAGE_RECEIVED", sender: NUMBER, message: "STOP" })],
  ])("%s, at either URL", async (provider, request) => {
    const heard: unknown[] = [];
    const { sms } = await start(
      { provider, inboundToken: "t0ken" },
      () => ({ body: "{}" }),
      ({ method, args }) => {
        if (method === "receive") heard.push(args[0]);
        return { kind: "joined", list: "x" };
      },
    );
    expect((await sms.request({ url: "/inbound?token=t0ken", ...request })).status).toBe(204);
    if (["telnyx", "sms-gate", "httpsms", "sinch", "textbee"].includes(provider))
      expect((await sms.request({ url: "/receipts?token=t0ken", ...request })).status).toBe(204);
    expect(new Set(heard.map((each) => JSON.stringify(each)))).toEqual(
      new Set([JSON.stringify({ from: NUMBER, text: "STOP" })]),
    );
  });
});

describe("signatures of providers", () => {
  const secret = "signing key";
  const url = "/receipts?delivery=1";
  const base = "https://bells.example.org/x/sms";
  const now = () => Math.floor(Date.now() / 1_000);
  const mac = (algorithm: string, text: string | Buffer, encoding: "hex" | "base64" | "base64url") =>
    createHmac(algorithm, secret).update(text).digest(encoding);
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const rawKey = publicKey.export({ format: "der", type: "spki" }).subarray(12).toString("base64");

  /** Settings, and a signed receipt; `at` is its time in seconds. */
  const SIGNED: [string, string, (at: number) => { headers: Record<string, string>; body: string; url?: string }][] = [
    [
      "twilio",
      secret,
      () => {
        const signed = `${base}${url}MessageSidSM1MessageStatusdelivered`;
        const headers = {
          "content-type": "application/x-www-form-urlencoded",
          "x-twilio-signature": mac("sha1", signed, "base64"),
        };
        return { headers, body: "MessageStatus=delivered&MessageSid=SM1" };
      },
    ],
    [
      "plivo",
      secret,
      () => {
        const signed = `${base}/receipts?delivery=1.MessageUUIDu1Statusdelivered.nonce`;
        const signature = {
          "x-plivo-signature-v3": `old,${mac("sha256", signed, "base64")}`,
          "x-plivo-signature-v3-nonce": "nonce",
        };
        return {
          headers: { "content-type": "application/x-www-form-urlencoded", ...signature },
          body: "Status=delivered&MessageUUID=u1",
        };
      },
    ],
    [
      "vonage",
      secret,
      (at) => {
        const sig = mac("sha256", `&messageId=m1&status=delivered&timestamp=${at}`, "hex");
        return {
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ messageId: "m1", status: "delivered", timestamp: at, sig }),
        };
      },
    ],
    [
      "sinch",
      secret,
      (at) => {
        const body = '{"batch_id":"b1","status":"Delivered"}';
        const names = { nonce: "n1", timestamp: String(at) };
        const headers = Object.fromEntries(
          Object.entries(names).map(([name, value]) => [`x-sinch-webhook-signature-${name}`, value]),
        );
        return {
          headers: { ...headers, "x-sinch-webhook-signature": mac("sha256", `${body}.n1.${at}`, "base64") },
          body,
        };
      },
    ],
    [
      "sms-gate",
      secret,
      (at) => {
        const body = '{"event":"sms:delivered","payload":{"messageId":"P1"}}';
        return { headers: { "x-timestamp": String(at), "x-signature": mac("sha256", `${body}${at}`, "hex") }, body };
      },
    ],
    [
      "telnyx",
      rawKey,
      (at) => {
        const body = '{"data":{"event_type":"message.finalized","payload":{"id":"t1","to":[{"status":"delivered"}]}}}';
        const signature = sign(null, Buffer.from(`${at}|${body}`), privateKey).toString("base64");
        return { headers: { "telnyx-timestamp": String(at), "telnyx-signature-ed25519": signature }, body };
      },
    ],
    [
      "messagebird",
      secret,
      (at) => {
        const hash = (text: string) => createHash("sha256").update(text).digest("hex");
        const target = "/receipts?delivery=1&id=e8&status=delivered";
        const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
        const signed = `${part({ alg: "HS256" })}.${part({ nbf: at, exp: at + 60, url_hash: hash(base + target) })}`;
        return {
          headers: { "messagebird-signature-jwt": `${signed}.${mac("sha256", signed, "base64url")}` },
          body: "",
          url: target,
        };
      },
    ],
  ];

  it.each(SIGNED)("are required and checked for %s", async (provider, signatureSecret, signed) => {
    const { sms, gateway } = await start({ provider, signatureSecret, inboundToken: "t0ken", sender: "X" }, () => ({
      body: "{}",
    }));
    sms.deliver(textTo(5, NUMBER, "x"));
    await sms.answered(5);
    const told = JSON.stringify(gateway.requests);
    expect(told).not.toContain("t0ken");
    const send = async ({ headers, body, url: target = url }: ReturnType<typeof signed>): Promise<number> =>
      (await sms.request({ url: target, headers, body: Buffer.from(body) })).status;
    const good = signed(now());
    expect(await send(good)).toBe(204);
    await sms.outcome(1, "accepted");
    expect(
      await send({
        ...good,
        headers: { "content-type": "application/json" },
        body: good.body.replace(/"sig":"[^"]*"/, '"sig":"0"'),
      }),
    ).toBe(401);
    if (good.body !== "") expect(await send({ ...good, body: good.body.replace("elivered", "elivereD") })).toBe(401);
    if (!["twilio", "plivo"].includes(provider)) expect(await send(signed(now() - 4_000))).toBe(401);
    const unsigned = Buffer.from(good.body.replace(/,"sig":"[^"]*"/, ""));
    expect((await sms.request({ url: `${url}&token=t0ken`, headers: {}, body: unsigned })).status).toBe(401);
  });
});
