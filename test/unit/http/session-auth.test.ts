import { expect, it } from "vitest";
import type { AccessControl } from "../../../src/auth/principal.ts";
import type { IncomingRequest } from "../../../src/http/incoming-request.ts";
import { authenticateSession } from "../../../src/http/session-auth.ts";

function ask(headers: Record<string, string>, secure = false) {
  const asked: unknown[][] = [];
  const access = { authenticate: (...given: unknown[]) => void asked.push(given) } as unknown as AccessControl;
  const incoming = { method: "get", secure, address: "192.0.2.7", header: (name: string) => headers[name] ?? null };
  authenticateSession(incoming as IncomingRequest, access);
  return asked;
}

it.each([
  ["a person's request", { cookie: "carillon=t" }, false, [["t", "cookie", true, "192.0.2.7"]]],
  [
    "one by the page itself",
    { cookie: "carillon=t", "x-carillon-background": "1" },
    false,
    [["t", "cookie", false, "192.0.2.7"]],
  ],
  ["one over TLS", { cookie: "carillon=t; __Host-carillon=s" }, true, [["s", "cookie", true, "192.0.2.7"]]],
  ["one without a session", { cookie: "other=t" }, false, []],
])("authenticates the session of %s", (_what, headers, secure, asked) => {
  expect(ask(headers, secure)).toEqual(asked);
});
