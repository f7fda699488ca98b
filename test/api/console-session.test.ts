import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hashPassword } from "../../src/auth/passwords.ts";
import users from "../../src/resources/people/users.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, FROZEN_CLOCK, openApi } from "./api-fixture.ts";
import type { ReceivedResponse, RequestOptions } from "./http-client.ts";

const PASSWORD = "correct horse battery";

let api: ApiFixture;
let origin: string;
beforeAll(async () => {
  api = await openApi(makeTempDir(), { clock: FROZEN_CLOCK });
  origin = new URL(api.base).origin;
  const passwordHash = await hashPassword(PASSWORD);
  await api.store.update(users, api.adminId, {}, api.system, { passwordHash });
});
afterAll(() => api.close());

const ADMIN = { email: "admin@example.org", password: PASSWORD };

function logIn(account: object = ADMIN, headers: Record<string, string> = {}): Promise<ReceivedResponse> {
  return api.call("POST", "/api/login", { token: null, json: account, headers });
}

/** The cookie as a browser would send it back. */
function cookieOf({ headers }: ReceivedResponse): string {
  return (headers.get("set-cookie") ?? "").split(";")[0] as string;
}

/** A request as a page of the console sends it, unless `headers` say otherwise; an empty header is left out. */
function asPage(cookie: string, method: string, path: string, sending: RequestOptions = {}): Promise<ReceivedResponse> {
  const all = { cookie, origin, "x-carillon-console": "1", ...sending.headers };
  const headers = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ""));
  return api.call(method, path, { token: null, ...sending, headers });
}

describe("log-in", () => {
  it("answers 204 with cookies that no script reads, and nothing else", async () => {
    const answer = await logIn();
    expect([answer.status, answer.text]).toEqual([204, ""]);
    expect(answer.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^carillon=carillon_[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/),
      expect.stringMatching(/^carillon-browser=[\da-f]+; Path=\/; HttpOnly; SameSite=Strict; Max-Age=31536000$/),
    ]);
    expect(api.logText()).not.toContain(cookieOf(answer).slice(9));
    expect(api.logText()).not.toContain(PASSWORD);
  });

  it("takes a form too, and asks for both members", async () => {
    const form = Object.entries(ADMIN);
    expect((await api.call("POST", "/api/login", { token: null, form })).status).toBe(204);
    expect((await logIn({ email: "admin@example.org" })).body).toMatchObject({ status: 400, type: "required" });
    expect((await logIn({ ...ADMIN, password: 7 })).body).toMatchObject({ status: 400, type: "invalid-value" });
  });

  it("answers 401 with the same body for an unknown address and a wrong password", async () => {
    const answers = [
      await logIn({ ...ADMIN, password: "wrong horse" }),
      await logIn({ ...ADMIN, email: "nobody@example.org" }),
    ];
    for (const { status, headers } of answers) expect([status, headers.get("set-cookie")]).toEqual([401, null]);
    const bodies = answers.map(({ body }) => ({ ...body, requestId: "" }));
    expect(bodies[0]).toEqual(bodies[1]);
    expect(bodies[0]).toMatchObject({ type: "unauthorized", errors: [] });
  });

  it("returns the time to wait after too many attempts", async () => {
    const guess = () => logIn({ email: "guessed@example.org", password: "wrong horse" });
    for (let at = 0; at < 6; at++) await guess();
    const { status, headers, body } = await guess();
    expect([status, headers.get("retry-after"), body.type]).toEqual([429, "1", "too-many-requests"]);
  });

  it("is refused to pages of other sites", async () => {
    expect((await logIn(ADMIN, { origin: "http://evil.example.org" })).status).toBe(403);
    expect((await logIn(ADMIN, { origin })).status).toBe(204);
  });
});

describe("a session in a cookie", () => {
  let cookie: string;
  beforeAll(async () => {
    cookie = cookieOf(await logIn());
  });

  it("reads as its user, and never shows its token", async () => {
    const session = await asPage(cookie, "GET", "/session", { headers: { origin: "", "x-carillon-console": "" } });
    expect(session.body).toMatchObject({ accessToken: null, userId: api.adminId, idleTimeout: 30 });
    expect((await asPage(cookie, "GET", "/users")).status).toBe(200);
  });

  it("rejects a session as a bearer token and a token as a cookie", async () => {
    const value = cookie.slice("carillon=".length);
    expect((await api.call("GET", "/session", { token: value })).status).toBe(401);
    expect((await asPage(`carillon=${api.token}`, "GET", "/session")).status).toBe(401);
  });

  it.each([
    ["no header of the console", { "x-carillon-console": "" }],
    ["another value in it", { "x-carillon-console": "0" }],
    ["no origin", { origin: "" }],
    ["the origin of another site", { origin: "http://evil.example.org" }],
    ["the origin of another port", { origin: "http://127.0.0.1:1" }],
    ["an opaque origin", { origin: "null" }],
  ])("changes nothing with %s", async (_what, headers) => {
    const made = await asPage(cookie, "POST", "/users", { json: { name: "Forged" }, headers });
    expect(made.body).toMatchObject({ status: 403, type: "forbidden" });
    const form = await asPage(cookie, "POST", "/users", { form: [["name", "Forged"]], headers });
    expect(form.status).toBe(403);
    expect((await asPage(cookie, "DELETE", "/session", { headers })).status).toBe(403);
    expect(api.store.count(users, { name: "Forged" })).toBe(0);
  });

  it("changes what a page of the console asks for, while a bearer token needs nothing of it", async () => {
    expect((await asPage(cookie, "POST", "/users", { json: { name: "Made", email: "made@example.org" } })).status).toBe(
      200,
    );
    expect(
      (
        await asPage(cookie, "POST", "/users", {
          form: [
            ["name", "Made"],
            ["email", "made2@example.org"],
          ],
        })
      ).status,
    ).toBe(200);
    const headers = { cookie, origin: "http://evil.example.org" };
    expect(
      (await api.call("POST", "/users", { json: { name: "Made", email: "made3@example.org" }, headers })).status,
    ).toBe(200);
  });

  it("ends at log-out, which takes the cookie away", async () => {
    const other = cookieOf(await logIn());
    const ended = await asPage(other, "DELETE", "/session");
    expect([ended.status, ended.headers.get("set-cookie")]).toEqual([
      200,
      "carillon=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0",
    ]);
    expect((await asPage(other, "GET", "/session")).status).toBe(401);
    expect((await asPage(cookie, "GET", "/session")).status).toBe(200);
  });
});

describe("the host of a request", () => {
  it.each(["/api/v1/session", "/api/login", "/", "/x/any", "/.well-known/security.txt"])(
    "must be ours at %s",
    async (path) => {
      const { hostname, port } = new URL(api.base);
      const answer = await rawGet(hostname, Number(port), path, "evil.example.org");
      expect(answer.status).toBe(421);
      expect(answer.body).toMatchObject({ status: 421, type: "wrong-host", requestId: expect.any(String) });
      expect((await rawGet(hostname, Number(port), path, "localhost:9")).status).not.toBe(421);
    },
  );
});

describe("the schema", () => {
  it("describes every resource, to those who are logged in", async () => {
    expect((await api.call("GET", "/api/schema", { token: null })).status).toBe(401);
    const { token } = await api.user("Ann");
    const { body } = await api.call("GET", "/api/schema", { token });
    expect(Object.keys(body.resources).sort()).toEqual(api.declarations.map(({ name }) => name).sort());
    expect(body.resources.users).toMatchObject({
      path: "/users",
      methods: ["get", "post", "put", "delete"],
      schema: {
        type: "object",
        required: ["name"],
        properties: {
          name: { type: "string", minLength: 1, maxLength: 140, description: expect.any(String) },
          email: { format: "email" },
          type: { enum: expect.arrayContaining(["regular"]), default: "regular" },
          lock: { type: "object", properties: { start: { format: "date-time" } } },
          idleTimeout: { type: "integer", minimum: 5, maximum: 720, "x-unit": "min" },
          isLocked: { type: "boolean", readOnly: true },
          loadSourceId: { "x-ref": "load-definitions", readOnly: true },
        },
      },
    });
    expect(JSON.stringify(body)).not.toMatch(/passwordHash|tokenHash/);
    expect(body.resources["user-tokens"].path).toBe("/users/{userId}/tokens");
    expect(body.extensions).toEqual({});
  });
});

/** Node's fetch does not let the Host header be set. */
async function rawGet(hostname: string, port: number, path: string, host: string) {
  const { request } = await import("node:http");
  return new Promise<{ status: number | undefined; body: unknown }>((resolve, reject) => {
    const sent = request({ hostname, port, path, headers: { host } }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      response.on("end", () => {
        const isJson = response.headers["content-type"]?.startsWith("application/json");
        resolve({ status: response.statusCode, body: isJson ? JSON.parse(text) : text });
      });
    });
    sent.on("error", reject).end();
  });
}

describe("the set-up", () => {
  it("reports whether a session exists, without an error if none does", async () => {
    const ask = async (cookie: string) =>
      (await api.call("GET", "/api/setup", { token: null, headers: { cookie } })).body;
    expect(await ask("")).toMatchObject({ needed: false, loggedIn: false });
    expect(await ask("carillon=carillon_nonsense")).toMatchObject({ needed: false, loggedIn: false });
    const cookie = cookieOf(await logIn());
    expect(await ask(cookie)).toMatchObject({ needed: false, loggedIn: true });
    await asPage(cookie, "DELETE", "/session");
    expect(await ask(cookie)).toMatchObject({ needed: false, loggedIn: false });
  });
});
