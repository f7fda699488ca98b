import type { IncomingMessage } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { unauthorized } from "../../src/http/error-response.ts";
import { createRateLimit } from "../../src/http/rate-limit.ts";
import { defaultSettings } from "../../src/settings/schema.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, FROZEN_CLOCK, openApi } from "./api-fixture.ts";
import { expectError } from "./resource-suite.ts";

const ORIGIN = "https://intranet.example.org";
let api: ApiFixture;
beforeAll(async () => {
  const settings = defaultSettings();
  settings.api.origins = [ORIGIN];
  settings.api.requestsPerMinute = { token: 15, address: 5 };
  api = await openApi(makeTempDir(), { clock: FROZEN_CLOCK, needs: { settings } });
});
afterAll(() => api.close());

describe("requests beyond the limit", () => {
  it("are refused per token with the time to wait", async () => {
    const [one, other] = [await api.user("One"), await api.user("Other")];
    for (let at = 0; at < 30; at++) expect((await api.call("GET", "/session", { token: one.token })).status).toBe(200);
    const refused = await api.call("GET", "/session", { token: one.token });
    expectError(refused, 429, "too-many-requests");
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(Number(refused.headers.get("retry-after"))).toBeLessThan(6);
    expect((await api.call("GET", "/session", { token: other.token })).status).toBe(200);
  });

  it("are counted per address without a valid token", async () => {
    // Ten are free at once; some were used by what made the scene.
    const ask = async (at: number) => await api.call("GET", "/users", { token: at % 2 ? null : `wrong-${at}` });
    for (let at = 0; at < 5; at++) expectError(await ask(at), 401, "unauthorized");
    for (let at = 5; (await ask(at)).status !== 429; at++) expect(at).toBeLessThan(15);
    expectError(await api.call("GET", "/users", { token: null }), 429, "too-many-requests");
    const { token } = await api.user("Good");
    expect((await api.call("GET", "/session", { token })).status).toBe(200);
  });

  it("are counted per address for forged cookies and tokens, also on public routes", async () => {
    const madeUp = [{ cookie: "carillon=made-up" }, { cookie: "a=b" }, { authorization: "Bearer made-up" }];
    for (const headers of [...madeUp, { authorization: "Basic made-up" }]) {
      const ask = async () => (await api.call("GET", "/api/setup", { token: null, headers })).status;
      for (let at = 0; (await ask()) !== 429; at++) expect(at).toBeLessThan(15);
    }
    const ofDirectory = async () => (await api.call("GET", "/scim/v2/Users", { token: "made-up" })).status;
    for (let at = 0; (await ofDirectory()) !== 429; at++) expect(at).toBeLessThan(15);
  });
});

describe("the limit", () => {
  const setUp = (limits = { token: 60, address: 60 }) => {
    const clock = createFakeClock();
    const limit = createRateLimit(clock, limits, ({ headers: { authorization: token = null, cookie } }) => {
      return { key: "", isKnown: token !== null || cookie !== undefined, token };
    });
    const ask = async (headers: Record<string, string>, serve = async () => ({ body: null }) as const) => {
      const raw = { headers, socket: { remoteAddress: "10.0.0.1" } };
      return limit(raw as unknown as IncomingMessage, serve).then(
        () => 0,
        (error: { retryAfterS?: number; type: string }) => error.retryAfterS ?? error.type,
      );
    };
    return { clock, ask };
  };

  it("comes back with time, up to two minutes' worth", async () => {
    const { clock, ask } = setUp();
    const token = { authorization: "Bearer a" };
    for (let at = 0; at < 120; at++) expect(await ask(token)).toBe(0);
    expect(await ask(token)).toBe(1);
    await clock.advance(2_000);
    expect([await ask(token), await ask(token), await ask(token)]).toEqual([0, 0, 1]);
    await clock.advance(3_600_000);
    for (let at = 0; at < 120; at++) expect(await ask(token)).toBe(0);
    expect(await ask(token)).toBe(1);
  });

  it("does not count valid console sessions", async () => {
    const { ask } = setUp({ token: 60, address: 1 });
    for (let at = 0; at < 200; at++) expect(await ask({ cookie: "session=good" })).toBe(0);
    const wrong = () => ask({ cookie: "session=bad" }, async () => Promise.reject(unauthorized()));
    expect([await wrong(), await wrong(), await wrong()]).toEqual(["unauthorized", "unauthorized", 60]);
  });

  it("is off at 0", async () => {
    const { ask } = setUp({ token: 0, address: 0 });
    for (let at = 0; at < 1_000; at++) expect(await ask({ authorization: "Bearer a" })).toBe(0);
  });
});

describe("allowed origins", () => {
  const preflight = { "access-control-request-method": "PUT", "access-control-request-headers": "authorization" };

  it("may send and read requests if the settings list them", async () => {
    const asked = await api.call("OPTIONS", "/users", { token: null, headers: { ...preflight, origin: ORIGIN } });
    expect(asked.status).toBe(204);
    expect(asked.headers.get("access-control-allow-origin")).toBe(ORIGIN);
    expect(asked.headers.get("access-control-allow-methods")).toContain("PUT");
    expect(asked.headers.get("access-control-allow-headers")).toContain("Authorization");
    expect(asked.headers.get("access-control-allow-credentials")).toBeNull();
    const got = await api.call("GET", "/session", { headers: { origin: ORIGIN } });
    expect(got.headers.get("access-control-allow-origin")).toBe(ORIGIN);
    expect(got.headers.get("vary")).toContain("Origin");
  });

  it.each(["https://elsewhere.example.org", "null", `${ORIGIN}:8443`, ORIGIN.replace("https", "http")])(
    "such as %s may not",
    async (origin) => {
      for (const method of ["OPTIONS", "GET"]) {
        const answer = await api.call(method, "/session", { headers: { ...preflight, origin } });
        expect(answer.headers.get("access-control-allow-origin")).toBeNull();
        expect(answer.headers.get("vary")).toContain("Origin");
      }
    },
  );
});
