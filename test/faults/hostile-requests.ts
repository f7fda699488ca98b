import { gzipSync } from "node:zlib";
import type { FuzzRequest } from "./fuzz-requests.ts";

const JSON_TYPE = { "content-type": "application/json" };
const FORM_TYPE = { "content-type": "application/x-www-form-urlencoded" };
const EDGE = "----edge";
const MULTIPART = { "content-type": `multipart/form-data; boundary=${EDGE}` };
const LISTS = "/api/v1/distribution-lists";
const TEMPLATES = "/api/v1/message-templates";
const GROUPS = "/api/v1/device-groups";

/** The hostile inputs that come over HTTP, by their number there. @source reliability.md 4 */
export function hostileRequests(userId: string): FuzzRequest[] {
  return [
    ...names().map((name) => posted(LISTS, { name })), // 1, 2
    raw(LISTS, JSON_TYPE, "[".repeat(1_000_000)), // 3
    raw(LISTS, JSON_TYPE, `{${Array.from({ length: 100_000 }, (_, at) => `"k${at}":1`).join()}}`), // 4
    raw(LISTS, JSON_TYPE, '{"name":"a","id":1,"id":2}'), // 5
    raw(LISTS, JSON_TYPE, '{"name":"a","__proto__":{"isAdmin":true},"constructor":{"prototype":{"x":1}}}'), // 6
    raw(LISTS, FORM_TYPE, "campaign[__proto__][x]=1&name=a"), // 7
    raw(LISTS, FORM_TYPE, `a${"[b]".repeat(2_000)}=1`), // 8
    raw(LISTS, FORM_TYPE, "a=1&".repeat(100_000)), // 9
    ...[-1, 0, 1e308, "NaN", "1e3", 2 ** 53 + 1].map((expiration) =>
      posted(TEMPLATES, { name: "n", subject: "s", expiration }),
    ), // 10
    ...["limit=0", "limit=-1", "limit=1000000000", "limit=1;drop", "limit=1&limit=2"].map((query) =>
      got(`${LISTS}?${query}`),
    ), // 11
    got(`${LISTS}?start=${Buffer.from('"forged.[1,0,0]"').toString("base64")}`), // 12
    ...["name' OR 1=1--", "name) UNION SELECT", "__proto__", "rowid"].map((name) =>
      got(`${LISTS}?${encodeURIComponent(name)}=1&sort=${encodeURIComponent(name)}`),
    ), // 13
    ...["(".repeat(10_000), "1 AND", "1 OR 2 AND NOT (3", "999", "\u0661"].map((logicalExpression) =>
      posted(GROUPS, {
        name: `g${logicalExpression.length}`,
        filterType: "LOGICAL_EXPRESSION",
        logicalExpression,
        filters: [],
      }),
    ), // 14
    posted(GROUPS, { name: "many", filters: Array.from({ length: 201 }, () => filter("a")) }), // 15
    posted(GROUPS, { name: "slow", filters: [filter("(a+)+$")] }),
    ...["9999-12-31", "2026-02-30T00:00:00Z", "0000-00-00T00:00:00Z"].map((expires) =>
      posted(`/api/v1/users/${userId}/tokens`, { name: "t", expires }),
    ), // 18
    ...uploads(), // 26, 27, 28
    raw(LISTS, { ...JSON_TYPE, "content-encoding": "gzip" }, gzipSync("0".repeat(1_000_000))), // 30
    raw(LISTS, { ...JSON_TYPE, "content-encoding": "gzip, gzip" }, "{}"),
    ...["application/json; charset=utf-7", "text/plain", ""].map((type) =>
      raw(LISTS, { "content-type": type }, '{"name":"x"}'),
    ), // 32
    raw(`${LISTS}?access_token=b`, FORM_TYPE, "access_token=c&name=x"), // 34
    raw(`${LISTS}?domain=a`, { ...JSON_TYPE, "x-service-domain": "b" }, '{"name":"x","domain":"c"}'), // 35
    ...[
      "/api//v1///users",
      "/api/v1/%2e%2e/users",
      "/api/v1/users/%00",
      "/api/v1/users/%",
      "/api/v1/users/..%2f",
      "/api/v1/users?_method=DELETE",
    ].map(got), // 36
    ...["TRACE", "PATCH", "LINK", "HEAD", "OPTIONS"].map((method): FuzzRequest => ({ ...got(LISTS), method })),
    ...[["a"], { a: 1 }, 12, userId.toUpperCase(), "ffffffff-ffff-1fff-bfff-ffffffffffff"].map(
      (id): FuzzRequest => ({ ...posted("/api/v1/users", { id, name: "x" }), method: "PUT" }),
    ), // 37
    ...["{", '"', "*", "NEAR(", "a".repeat(9_000), `{"and":${"[".repeat(500)}`, "\u0000", "name:name:name:"].map((q) =>
      got(`${LISTS}?q=${encodeURIComponent(q)}`),
    ),
  ];
}

function names(): string[] {
  return ["x".repeat(10_000_000), "\u0000", "a\u202eb", "\ud83d\ude00".repeat(140), "\ud83d\ude00".repeat(141)];
}

function filter(value: string): object {
  return { attribute: "Name", comparison: "MATCHES_REGEX", value, complement: false, caseSensitive: true };
}

function uploads(): FuzzRequest[] {
  const named = part('name="name"', "n") + part('name="subject"', "s");
  const end = `--${EDGE}--\r\n`;
  const file = (name: string, bytes: string): string => part(`name="image"; filename="${name}"`, bytes);
  return [
    ...["../../../etc/cron.d/x", "..\\x", "a\u0000.wav", "x".repeat(300), "CON"].map(
      (name) => named + file(name, "") + end,
    ),
    named + file("a.png", "<html><script>") + end,
    named + file("a.svg", "<svg onload=alert(1)>") + end,
    named + part('name="audio"; filename="a.wav"', "RIFF\xff\xff\xff\xffWAVEfmt ") + end,
    named,
    part('name="a"', "1").repeat(10_000) + end,
    `--${EDGE}\r\nX: ${"x".repeat(1_000_000)}\r\n\r\n`,
    named + file("a.png", "a") + file("a.png", "b") + end,
  ].map((body) => raw(TEMPLATES, MULTIPART, Buffer.from(body, "latin1")));
}

function part(disposition: string, value: string): string {
  return `--${EDGE}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${value}\r\n`;
}

function posted(target: string, json: object): FuzzRequest {
  return raw(target, JSON_TYPE, JSON.stringify(json));
}

function raw(target: string, headers: Record<string, string>, body: string | Buffer): FuzzRequest {
  return { method: "POST", target, headers, body: Buffer.from(body as string) };
}

function got(target: string): FuzzRequest {
  return { method: "GET", target, headers: {}, body: null };
}
