import { gzipSync } from "node:zlib";
import type { FuzzRequest } from "./fuzz-requests.ts";

const JSON_TYPE = { "content-type": "application/json" };
const FORM_TYPE = { "content-type": "application/x-www-form-urlencoded" };
const EDGE = "----edge";
const MULTIPART = { "content-type": `multipart/form-data; boundary=${EDGE}` };
const LISTS = "/api/v1/distribution-lists";
const TEMPLATES = "/api/v1/message-templates";
const GROUPS = "/api/v1/device-groups";

/** A hostile input that comes over HTTP. */
export interface HostileInput {
  /** Its number among the forty; null for what was added to them. @source reliability.md 4 */
  number: number | null;
  what: string;
  requests: readonly FuzzRequest[];
  /** Whether nothing of it may be taken; else it may, where it is right after all. */
  isRefused?: boolean;
}

/** The hostile inputs that one request each can bring. */
export function hostileInputs({ userId, domainId }: { userId: string; domainId: string }): HostileInput[] {
  return [
    {
      number: 1,
      what: "a name of 10 MB",
      requests: [posted(LISTS, { name: "x".repeat(10_000_000) })],
      isRefused: true,
    },
    { number: 2, what: "names with NUL, half characters, marks of direction", requests: names() },
    {
      number: 3,
      what: "a million nested arrays",
      requests: [raw(LISTS, JSON_TYPE, "[".repeat(1_000_000))],
      isRefused: true,
    },
    {
      ...{ number: 4, what: "100,000 keys", isRefused: true },
      requests: [raw(LISTS, JSON_TYPE, `{${Array.from({ length: 100_000 }, (_, at) => `"k${at}":1`).join()}}`)],
    },
    { number: 5, what: "a key twice", requests: [raw(LISTS, JSON_TYPE, '{"name":"a","id":1,"id":2}')] },
    {
      ...{ number: 6, what: "__proto__ and constructor" },
      requests: [
        raw(LISTS, JSON_TYPE, '{"name":"a","__proto__":{"isAdmin":true},"constructor":{"prototype":{"x":1}}}'),
      ],
    },
    { number: 7, what: "__proto__ in brackets", requests: [raw(LISTS, FORM_TYPE, "campaign[__proto__][x]=1&name=a")] },
    {
      number: 8,
      what: "brackets 2,000 deep",
      requests: [raw(LISTS, FORM_TYPE, `a${"[b]".repeat(2_000)}=1`)],
      isRefused: true,
    },
    {
      number: 9,
      what: "a form of 100,000 members",
      requests: [raw(LISTS, FORM_TYPE, "a=1&".repeat(100_000))],
      isRefused: true,
    },
    {
      ...{ number: 10, what: "numbers out of bounds", isRefused: true },
      requests: [-1, 0, 1e308, "NaN", 2 ** 53 + 1].map((numWeeks) => schedule({ numWeeks })),
    },
    {
      ...{ number: 11, what: "limits out of bounds", isRefused: true },
      requests: ["limit=0", "limit=-1", "limit=1000000000", "limit=1;drop", "limit=1&limit=2"].map((query) =>
        got(`${LISTS}?${query}`),
      ),
    },
    {
      ...{ number: 12, what: "a forged pointer to a page", isRefused: true },
      requests: [got(`${LISTS}?start=${Buffer.from('"forged.[1,0,0]"').toString("base64")}`)],
    },
    {
      ...{ number: 13, what: "SQL in the names of filters", isRefused: true },
      requests: ["name' OR 1=1--", "name) UNION SELECT", "__proto__", "rowid"].map((name) =>
        got(`${LISTS}?${encodeURIComponent(name)}=1&sort=${encodeURIComponent(name)}`),
      ),
    },
    {
      ...{ number: 14, what: "logical expressions that are none", isRefused: true },
      requests: ["(".repeat(10_000), "1 AND", "1 OR 2 AND NOT (3", "999", "\u0661"].map((logicalExpression) =>
        posted(GROUPS, { name: "g", filterType: "LOGICAL_EXPRESSION", logicalExpression, filters: [] }),
      ),
    },
    {
      ...{ number: 15, what: "201 filters, and a slow pattern" },
      requests: [
        posted(GROUPS, { name: "many", filters: Array.from({ length: 201 }, () => filter("a")) }),
        posted(GROUPS, { name: "slow", filters: [filter("(a+)+$")] }),
      ],
    },
    {
      ...{ number: 17, what: "a domain below itself (which moves nothing), both raised and lowered" },
      requests: [
        put(`/api/v1/domains/${domainId}`, { parentId: domainId }),
        posted(`/api/v1/domains/${domainId}/device-groups`, { deviceGroupId: userId, promote: true, demote: true }),
      ],
    },
    {
      ...{ number: 18, what: "days that are none", isRefused: true },
      requests: [
        ...["2026-02-30T00:00:00Z", "0000-00-00T00:00:00Z"].map((expires) =>
          posted(`/api/v1/users/${userId}/tokens`, { name: "t", expires }),
        ),
        ...["2026-02-30", "0000-00-00", "2031-08-31"].map((endDate) => schedule({ endDate })),
      ],
    },
    {
      ...{ number: 19, what: "time zones that are none", isRefused: true },
      requests: ["../../etc/localtime", "Etc/GMT+25", "america/new_york"].map((timeZone) => schedule({ timeZone })),
    },
    {
      ...{ number: 20, what: "bells at 24:00 and in a leap second", isRefused: true },
      requests: ["24:00:00", "23:59:60", "02:30"].map((time) =>
        posted("/api/v1/ring-lists", { name: "r", entries: [{ id: userId, time, messageTemplateId: userId }] }),
      ),
    },
    {
      ...{ number: 21, what: "places off the earth", isRefused: true },
      requests: [area([181, 91]), area([null, null]), area([1, 2], 0), area([1, 2], -5), area([1, 2], 1e12)],
    },
    {
      ...{ number: 22, what: "call managers that are this machine", isRefused: true },
      requests: ["[::1]", "2130706433", "0x7f.1", "localhost.", "169.254.169.254", "[::ffff:169.254.169.254]"].map(
        (axlAddress) => posted("/api/v1/callmgr-clusters", { name: "c", snmpVersion: "2", axlUser: "u", axlAddress }),
      ),
    },
    {
      ...{ number: 23, what: "links that are scripts, files, or two lines", isRefused: true },
      requests: ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "http://a\nb"].map((customUrl) =>
        posted("/api/v1/brandings", { name: "b", customUrl }),
      ),
    },
    {
      ...{ number: 24, what: "10,000 commas", isRefused: true },
      requests: [posted(`/api/v1/callmgr-clusters/${userId}/onprem-servers`, { cmAddress: ",".repeat(10_000) })],
    },
    {
      ...{ number: 25, what: "passwords with NUL, new lines and commands" },
      requests: ["a\u0000b", "a\nb", "$(id)"].map((snmpAuthPassword) =>
        posted("/api/v1/callmgr-clusters", {
          ...{ name: snmpAuthPassword, snmpVersion: "3", axlUser: "u", axlAddress: "192.0.2.1", snmpAuthPassword },
        }),
      ),
    },
    { number: 26, what: "files with hostile names", requests: uploads().slice(0, NAMED_FILES) },
    { number: 27, what: "files that are not what they say", requests: uploads().slice(NAMED_FILES, NAMED_FILES + 3) },
    { number: 28, what: "broken multipart", requests: uploads().slice(NAMED_FILES + 3) },
    {
      ...{ number: 29, what: "tables with unbalanced quotes, other encodings, formulas" },
      requests: ['name\t"a\n', "\ufeffname\r\na\r\n", "name\n=cmd|' /C calc'!A0\n", "name\tname\n", "name\ra\r"].map(
        (table) =>
          raw(
            "/api/v1/bulk-uploads",
            MULTIPART,
            `${part('name="resourceType"', "users")}${part('name="file"; filename="t.tsv"', table)}--${EDGE}--\r\n`,
          ),
      ),
    },
    {
      ...{ number: 30, what: "bodies packed a thousand times, twice", isRefused: true },
      requests: [
        raw(LISTS, { ...JSON_TYPE, "content-encoding": "gzip" }, gzipSync("0".repeat(1_000_000))),
        raw(LISTS, { ...JSON_TYPE, "content-encoding": "gzip, gzip" }, "{}"),
        raw(LISTS, { ...JSON_TYPE, "content-encoding": "br" }, "{}"),
      ],
    },
    {
      ...{ number: 32, what: "other kinds of body", isRefused: true },
      requests: ["text/plain", ""].map((type) => raw(LISTS, { "content-type": type }, '{"name":"x"}')),
    },
    {
      ...{ number: 34, what: "three tokens at once", isRefused: true },
      requests: [raw(`${LISTS}?access_token=b`, FORM_TYPE, "access_token=c&name=x")],
    },
    {
      ...{ number: 35, what: "three domains at once", isRefused: true },
      requests: [raw(`${LISTS}?domain=a`, { ...JSON_TYPE, "x-service-domain": "b" }, '{"name":"x","domain":"c"}')],
    },
    {
      ...{ number: 36, what: "other methods and odd paths" },
      requests: [
        ...[
          ...["/api//v1///users", "/api/v1/%2e%2e/users", "/api/v1/users/%00", "/api/v1/users/%"],
          ...["/api/v1/users/..%2f", "/api/v1/users?_method=DELETE"],
        ].map(got),
        ...["TRACE", "PATCH", "LINK", "HEAD", "OPTIONS"].map((method): FuzzRequest => ({ ...got(LISTS), method })),
      ],
    },
    {
      ...{ number: 37, what: "ids that are none" },
      requests: [["a"], { a: 1 }, 12, userId.toUpperCase(), "ffffffff-ffff-1fff-bfff-ffffffffffff"].map((id) =>
        put("/api/v1/users", { id, name: "x" }),
      ),
    },
    {
      ...{ number: null, what: "searches that are none" },
      requests: [
        "{",
        '"',
        "*",
        "NEAR(",
        "a".repeat(9_000),
        `{"and":${"[".repeat(500)}`,
        "\u0000",
        "name:name:name:",
      ].map((q) => got(`${LISTS}?q=${encodeURIComponent(q)}`)),
    },
  ];
}

/** A bell schedule that would be right but for `change`. */
function schedule(change: object): FuzzRequest {
  const dates = { startDate: "2031-09-01", endDate: "2032-06-30" };
  return posted("/api/v1/bell-schedules", { name: "s", numWeeks: 1, ...dates, timeZone: "Europe/Berlin", ...change });
}

function area(coordinates: readonly unknown[], radiusInM = 5): FuzzRequest {
  const geometry = { type: "Point", coordinates };
  const geometryValue = { type: "Feature", geometry, properties: { radiusInM } };
  return posted("/api/v1/areas-of-interest", { name: "a", geometryType: "circle", geometryValue });
}

function names(): FuzzRequest[] {
  const hostile = ["\u0000", "a\u202eb", "\ud83d\ude00".repeat(140), "\ud83d\ude00".repeat(141)];
  return [...hostile.map((name) => posted(LISTS, { name })), raw(LISTS, JSON_TYPE, '{"name":"\\ud800"}')];
}

function filter(value: string): object {
  return { attribute: "Name", comparison: "MATCHES_REGEX", value, complement: false, caseSensitive: true };
}

/** So many of `uploads` are about names. */
const NAMED_FILES = 5;

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

function put(target: string, json: object): FuzzRequest {
  return { ...posted(target, json), method: "PUT" };
}

function raw(target: string, headers: Record<string, string>, body: string | Buffer): FuzzRequest {
  return { method: "POST", target, headers, body: Buffer.from(body as string) };
}

function got(target: string): FuzzRequest {
  return { method: "GET", target, headers: {}, body: null };
}
