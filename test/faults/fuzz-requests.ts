import type { Action } from "../../src/http/action.ts";
import type { AnyResource } from "../../src/schema/resource.ts";
import { seededRandom } from "../../src/tools/simulator/seeded-random.ts";
import {
  fileFields,
  formPairs,
  sampleFile,
  sampleInput,
  UNKNOWN_ID,
  writableSampleFields,
  wrongValues,
} from "../support/sample-values.ts";

/** A request as it goes over the line. */
export interface FuzzRequest {
  method: string;
  /** With query, below the origin. */
  target: string;
  headers: Record<string, string>;
  body: Buffer | null;
}

/** Ids of rows that are there, by the last collection of their path; grows while requests are answered. */
export type KnownIds = Map<string, string[]>;

/** Numbers in [0, 1) that follow from a seed, one after the other. */
export interface SeededRandom {
  roll(): number;
  /** True in one of `in` cases. */
  oneIn(cases: number): boolean;
  pick<T>(values: readonly T[]): T;
}

/** The dice of one request. */
function diceOf(seed: number, request: number): SeededRandom {
  let rolls = 0;
  const roll = (): number => seededRandom(seed, request, rolls++);
  return {
    roll,
    oneIn: (cases) => roll() * cases < 1,
    pick: (values) => values[Math.floor(roll() * values.length)] as never,
  };
}

/** Texts that others have choked on. */
const NASTY: readonly string[] = [
  "",
  "0",
  "-1",
  "1e308",
  "9007199254740993",
  "NaN",
  "null",
  "true",
  "[]",
  "{}",
  "{",
  '{"and":[{"or":["a:b"]}]}',
  '"',
  "'; DROP TABLE users; --",
  "name) UNION SELECT",
  "%",
  "%00",
  "\u0000",
  "\ud800",
  "\u202egnirts",
  "\ud83d\udd14".repeat(141),
  "x".repeat(5_000),
  "../../../etc/passwd",
  "__proto__",
  "constructor",
  "toString",
  "NEAR(a b)",
  "name:*",
  "2026-02-30T00:00:00Z",
  "9999-12-31",
  UNKNOWN_ID,
  UNKNOWN_ID.toUpperCase(),
  "javascript:alert(1)",
  "http://[::ffff:127.0.0.1]/",
  "\r\nX-Injected: 1",
  "((((((((1 AND 2",
  "(a+)+$",
  "<script>alert(1)</script>",
];
const NASTY_VALUES: readonly unknown[] = [
  ...NASTY,
  null,
  0,
  -1,
  1.5,
  2 ** 53,
  true,
  [],
  [[]],
  [null],
  {},
  { a: {} },
  [1, "a"],
];
const SORTS = ["name", "-name", "createdAt", "-updatedAt", "id", "noSuchField"];
const MAGIC = [
  "limit",
  "start",
  "sort",
  "q",
  "ids[]",
  "id",
  "skip",
  "domain",
  "include-total",
  "includeDomain",
  "_method",
];

/** Makes requests from what the API serves. The same seed, number and known ids give the same request. */
export function createFuzz(actions: readonly Action[], seed: number) {
  return (number: number, ids: KnownIds): FuzzRequest => {
    const dice = diceOf(seed, number);
    const action = dice.pick(actions);
    const method = dice.oneIn(60) ? dice.pick(["PATCH", "OPTIONS", "HEAD", "TRACE"]) : action.method.toUpperCase();
    const path = pathOf(action, dice, ids);
    const query = dice.oneIn(3) || method === "GET" ? queryOf(action, dice, ids) : "";
    const headers = headersOf(dice, ids);
    if (!action.accepts || method === "GET") return { method, target: `/api/${path}${query}`, headers, body: null };
    const { type, body } = bodyOf(action, dice, ids, number);
    return { method, target: `/api/${path}${query}`, headers: { ...headers, ...type }, body };
  };
}

function pathOf(action: Action, dice: SeededRandom, ids: KnownIds): string {
  const segments = action.at.split("/");
  const filled = segments.map((segment, at) => {
    if (!segment.startsWith("{")) return segment;
    return encodeURIComponent(wellFormed(idFor(segments[at - 1] as string, dice, ids)));
  });
  const path = (action.outsideVersion ? "" : "v1/") + filled.join("/");
  return dice.oneIn(80) ? `${path}/` : dice.oneIn(200) ? `${path}//x` : path;
}

function idFor(collection: string, dice: SeededRandom, ids: KnownIds): string {
  if (dice.oneIn(25)) return dice.pick(NASTY);
  if (dice.oneIn(15)) return UNKNOWN_ID;
  const known = ids.get(collection) ?? [];
  if (known.length === 0 || dice.oneIn(10)) return dice.pick([UNKNOWN_ID, ...[...ids.values()].flat()]);
  return dice.pick(known);
}

function queryOf(action: Action, dice: SeededRandom, ids: KnownIds): string {
  const names = [...Object.keys(action.accepts ?? {}), ...Object.keys(action.query ?? {}), "name", "type", "createdAt"];
  const pairs: string[] = [];
  const count = Math.floor(dice.roll() * 4);
  for (let at = 0; at < count; at++) {
    const name = dice.oneIn(3)
      ? dice.pick(MAGIC)
      : dice.pick(names) + dice.pick(["", "", "", "__gt", "__lte", "s", "[]", "[a]"]);
    pairs.push(`${encodeURIComponent(name)}=${encodeURIComponent(wellFormed(queryValue(name, dice, ids)))}`);
  }
  if (dice.oneIn(6))
    pairs.push(
      `q=${encodeURIComponent(wellFormed(dice.pick([...NASTY, "a", "sample", "name:sample", "type:regular"])))}`,
    );
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`;
}

function queryValue(name: string, dice: SeededRandom, ids: KnownIds): string {
  if (dice.oneIn(3)) return dice.pick(NASTY);
  if (name === "sort") return dice.pick(SORTS);
  if (name === "limit" || name === "skip") return String(Math.floor(dice.roll() * 1_100));
  if (/ids?(\[\])?$/i.test(name)) return dice.pick([UNKNOWN_ID, ...[...ids.values()].flat()]);
  return dice.pick(["true", "false", "sample", "1", "2026-01-01", "2026-01-01T00:00:00Z", "end", "regular"]);
}

function headersOf(dice: SeededRandom, ids: KnownIds): Record<string, string> {
  const headers: Record<string, string> = {};
  if (dice.oneIn(12)) headers["x-service-domain"] = dice.pick([...(ids.get("domains") ?? []), "no-id", UNKNOWN_ID]);
  if (dice.oneIn(12)) headers["if-match"] = dice.pick(["*", '"a"', 'W/"1-2.3"', ",,,"]);
  if (dice.oneIn(12)) headers["if-none-match"] = dice.pick(["*", '"a"', ",,,"]);
  if (dice.oneIn(8))
    headers["idempotency-key"] = dice.pick(["k1", "k2", "k3", "a b", "k".repeat(300), `k${dice.roll()}`]);
  if (dice.oneIn(4)) headers["accept-encoding"] = dice.pick(["gzip", "br", "gzip;q=0", "*"]);
  return headers;
}

type Body = { type: Record<string, string>; body: Buffer | null };

function bodyOf(action: Action, dice: SeededRandom, ids: KnownIds, serial: number): Body {
  const resource = { name: "fuzz", fields: action.accepts ?? {} } as unknown as AnyResource;
  if (dice.oneIn(25)) return garbage(dice);
  const idOf = (name: string): string | null => {
    const known = ids.get(name.replace(/^user-devices$/, "devices")) ?? [];
    return known.length === 0 ? null : dice.pick(known);
  };
  const input = sampleInput(resource, { serial, idOf, requiredOnly: dice.oneIn(2) });
  spoil(input, resource, dice, ids);
  const kind = dice.pick(["json", "json", "form", "multipart"] as const);
  if (kind === "json")
    return { type: { "content-type": "application/json" }, body: Buffer.from(JSON.stringify(input)) };
  const pairs = formPairs(resource, input).map(([name, value]): [string, string] => [name, wellFormed(value)]);
  if (kind === "form") {
    const text = new URLSearchParams(pairs).toString();
    return { type: { "content-type": "application/x-www-form-urlencoded" }, body: Buffer.from(text) };
  }
  return multipartOf(pairs, resource, dice);
}

/** Makes some members wrong, nasty, absent, or of a row that is there. */
function spoil(input: Record<string, unknown>, resource: AnyResource, dice: SeededRandom, ids: KnownIds): void {
  for (const [name, field] of writableSampleFields(resource)) {
    const fate = dice.roll();
    if (fate < 0.08) {
      const wrong = wrongValues(field);
      if (wrong.length > 0) input[name] = dice.pick(wrong).value;
    } else if (fate < 0.1) input[name] = dice.pick(NASTY_VALUES);
    else if (fate < 0.12) delete input[name];
  }
  if (dice.oneIn(15)) input.id = dice.pick([UNKNOWN_ID, 12, null, ...[...ids.values()].flat()]);
  if (dice.oneIn(30)) input.domain = dice.pick([UNKNOWN_ID, ...(ids.get("domains") ?? [])]);
  if (dice.oneIn(30)) Object.assign(input, { constructor: { prototype: 1 }, noSuchField: dice.pick(NASTY_VALUES) });
}

function multipartOf(pairs: readonly [string, string][], resource: AnyResource, dice: SeededRandom): Body {
  const boundary = "----fuzz";
  const parts: Buffer[] = pairs.map(([name, value]) =>
    Buffer.from(
      `--${boundary}\r\nContent-Disposition: form-data; name="${name.replace(/["\r\n]/g, "_")}"\r\n\r\n${value}\r\n`,
    ),
  );
  for (const [name, field] of fileFields(resource)) {
    if (!field.required && dice.oneIn(2)) continue;
    const bytes = dice.oneIn(3) ? Buffer.from(dice.pick(NASTY)) : sampleFile(field).bytes;
    const fileName = dice.pick(["a.png", "../../a", "CON", "a\u0000.wav", "x".repeat(300)]);
    parts.push(
      Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"; filename="${fileName}"\r\n\r\n`),
    );
    parts.push(bytes, Buffer.from("\r\n"));
  }
  parts.push(Buffer.from(`--${boundary}--\r\n`));
  const whole = Buffer.concat(parts);
  const body = dice.oneIn(20) ? whole.subarray(0, Math.floor(dice.roll() * whole.length)) : whole;
  return { type: { "content-type": `multipart/form-data; boundary=${boundary}` }, body };
}

function garbage(dice: SeededRandom): Body {
  const type = dice.pick([
    "application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "text/plain",
    "",
  ]);
  const body = Buffer.from(
    dice.pick([...NASTY, "[".repeat(3_000), "a[b]".repeat(500), "a=1&".repeat(2_000), "null", "[]"]),
  );
  return { type: type === "" ? {} : { "content-type": type }, body };
}

/** Half characters can't be sent as UTF-8. */
function wellFormed(text: string): string {
  return Buffer.from(text, "utf8").toString("utf8");
}
