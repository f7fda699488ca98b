import { expect, it } from "vitest";
import type { Access } from "../../../src/access/principal.ts";
import { callerByCookie } from "../../../src/rest/caller-by-cookie.ts";
import type { Incoming } from "../../../src/rest/incoming.ts";

function ask(headers: Record<string, string>, secure = false) {
  const asked: unknown[][] = [];
  const access = { authenticate: (...given: unknown[]) => void asked.push(given) } as unknown as Access;
  const incoming = { method: "get", secure, header: (name: string) => headers[name] ?? null };
  callerByCookie(incoming as Incoming, access);
  return asked;
}

it.each([
  ["a person's request", { cookie: "carillon=t" }, false, [["t", "cookie", true]]],
  ["one by the page itself", { cookie: "carillon=t", "x-carillon-background": "1" }, false, [["t", "cookie", false]]],
  ["one over TLS", { cookie: "carillon=t; __Host-carillon=s" }, true, [["s", "cookie", true]]],
  ["one without a session", { cookie: "other=t" }, false, []],
])("looks at the session of %s", (_what, headers, secure, asked) => {
  expect(ask(headers, secure)).toEqual(asked);
});
