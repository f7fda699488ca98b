import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import distributionLists from "../../src/resources/lists/distribution-lists.ts";
import subscriptions from "../../src/resources/people/subscriptions.ts";
import users from "../../src/resources/people/users.ts";
import { ONEROSTER_CLIENT, type OneRosterServer, openOneRosterServer } from "../support/oneroster-server.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import type { ReceivedResponse } from "./http-client.ts";

/** A Thursday in October. */
const NOON = Date.UTC(2026, 9, 1, 10);
const CHANGED = "2026-09-01T00:00:00.000Z";

let api: ApiFixture;
let server: OneRosterServer;
let now = NOON;
/** Waits between attempts, in ms; they take no time here. */
let waits: number[] = [];
const isWait = (ms: number): boolean => ms >= 2_000 && ms <= 300_000 && ms !== 30_000;
const clock: Clock = {
  ...systemClock,
  now: () => now,
  after(ms, work, options) {
    if (!isWait(ms) || options?.background) return systemClock.after(ms, work, options);
    waits.push(ms);
    return systemClock.after(0, work);
  },
};
beforeAll(async () => {
  api = await openApi(makeTempDir(), { clock, allowedTargets: ["127.0.0.0/8"] });
});
afterAll(() => api.close());
let number = 0;
beforeEach(async () => {
  [now, waits] = [NOON, []];
  server = await openOneRosterServer();
  number++;
});
afterEach(() => server.close());

type Body = ReceivedResponse["body"];
type Row = Record<string, unknown>;

const school = (): string => `s${number}.example`;
const row = (sourcedId: string, more: Row = {}): Row => ({
  ...{ sourcedId, status: "active", dateLastModified: CHANGED },
  ...more,
});
const ref = (sourcedId: string): Row => ({ sourcedId, href: `https://sis.example/${sourcedId}`, type: "x" });
const user = (id: string, more: Row = {}): Row =>
  row(id, {
    ...{ enabledUser: "true", givenName: id, familyName: "Doe", email: `${id}@${school()}` },
    roles: [{ roleType: "primary", role: "student", org: ref("o1") }],
    ...more,
  });
const enrolment = (id: string, person: string, more: Row = {}): Row =>
  row(id, { role: "student", user: ref(person), class: ref("c1"), school: ref("o1"), ...more });

function give(people: number): void {
  server.rows = {
    academicSessions: [row("t1", { title: "Year", startDate: "2026-08-01", endDate: "2027-07-01" })],
    orgs: [row("o1", { name: `North ${number}`, type: "school" })],
    classes: [row("c1", { title: `Algebra ${number}`, school: ref("o1"), terms: [ref("t1")] })],
    users: Array.from({ length: people }, (_, at) => user(`u${at}`)),
    enrollments: Array.from({ length: people }, (_, at) => enrolment(`e${at}`, `u${at}`)),
  };
}

async function define(more: object = {}): Promise<string> {
  const { url, tokenUrl } = server;
  const json = { name: school(), type: "oneroster-api", url, tokenUrl, ...ONEROSTER_CLIENT, ...more };
  const { status, body } = await api.call("POST", "/load-definitions", { json });
  expect([status, body]).toEqual([200, body]);
  expect(JSON.stringify(body)).not.toContain(ONEROSTER_CLIENT.clientSecret);
  return body.id;
}

async function run(id: string, json: object = {}): Promise<Body> {
  const { body } = await api.call("POST", `/load-definitions/${id}/runs`, { json });
  for (;;) {
    const { body: current } = await api.call("GET", `/load-definitions/${id}/runs/${body.id}`);
    if (current.endedAt !== null) return current;
  }
}

const people = (): string[] =>
  api.store
    .find(users, {})
    .filter(({ email }) => email?.endsWith(`@${school()}`))
    .map(({ email }) => email?.split("@")[0] ?? "")
    .sort();
const members = (list: string): number => {
  const [found] = api.store.find(distributionLists, { name: `${list} ${number}` });
  return found ? api.store.count(subscriptions, { distributionListId: found.id }) : 0;
};

describe("a load from a OneRoster service", () => {
  it.each(["link", "total", "none"] as const)("reads all pages with %s", async (paging) => {
    give(25);
    Object.assign(server, { paging, pageSize: 10 });
    const done = await run(await define());
    expect(done).toMatchObject({ state: "complete", reason: null, usersCreated: 25, linesWithErrors: 0 });
    expect(people()).toHaveLength(25);
    expect([members("North"), members("Algebra")]).toEqual([25, 25]);
    expect(server.grants).toHaveLength(1);
    expect(new URLSearchParams(server.grants[0]?.body).get("scope")).toBe(
      "https://purl.imsglobal.org/spec/or/v1p2/scope/roster-core.readonly",
    );
  });

  it("goes on when its token ends in the middle, the service is busy, and rows move between pages", async () => {
    give(40);
    Object.assign(server, { pageSize: 7, tokenUses: 3, paging: "total" });
    const busy = [{ "retry-after": "90" }, {}, { "retry-after": "Thu, 01 Oct 2026 10:02:00 GMT" }];
    const users40 = server.rows.users as Row[];
    server.intercept = (_, response, url) => {
      if (url.pathname.endsWith("/users") && url.searchParams.get("offset") === "7" && busy.length > 0) {
        response.writeHead(busy.length === 2 ? 502 : 429, busy.shift()).end();
        return true;
      }
      // A new row at the beginning moves all others by one.
      if (url.searchParams.get("offset") === "14" && users40.length === 40 && url.pathname.endsWith("/users"))
        users40.unshift(user("u-new"));
      return false;
    };
    const done = await run(await define());
    expect(done).toMatchObject({
      state: "stopped",
      reason: expect.stringContaining("there are 41 records, but sent 40"),
    });
    expect(waits).toEqual([90_000, 4_000, 120_000]);
    expect(server.grants.length).toBeGreaterThan(3);
    // The next load is complete.
    expect(await run(await define({ name: `${school()} again` }))).toMatchObject({
      state: "complete",
      usersCreated: 41,
    });
  });

  it("warns of records that come twice", async () => {
    give(20);
    Object.assign(server, { pageSize: 5, paging: "link" });
    (server.rows.users as Row[]).splice(10, 0, user("u3"), user("u4"));
    const done = await run(await define());
    // The total counts the two that came twice.
    expect(done).toMatchObject({ state: "stopped", reason: expect.stringContaining("users: the service says") });
    const confirmed = await run(await define({ name: `${school()} 2` }), { confirmed: true });
    expect(confirmed).toMatchObject({ state: "complete", usersCreated: 20 });
    expect(confirmed.warnings).toContainEqual(
      expect.objectContaining({ file: "users.csv", message: expect.stringContaining("2 records came more than once") }),
    );
  });

  it("changes nothing when the service sends something else", async () => {
    give(12);
    Object.assign(server, { pageSize: 5 });
    const id = await define();
    expect(await run(id)).toMatchObject({ state: "complete", usersCreated: 12 });
    const login = "<!DOCTYPE html><html><body>Sign in</body></html>";
    const page =
      (text: string, type = "application/json") =>
      (_: unknown, response: import("node:http").ServerResponse) => {
        response.writeHead(200, { "content-type": type }).end(text);
        return true;
      };
    for (const [intercept, reason] of [
      [page(login, "text/html"), "answered with a web page, such as a login"],
      [page('{"users":[', "application/json"), "answered with something else than JSON"],
      [page('{"imsx_codeMajor":"failure"}'), "academicSessions: the response has no list academicSessions"],
    ] as const) {
      server.intercept = intercept as never;
      expect(await run(id)).toMatchObject({
        state: "failed",
        reason: expect.stringContaining(reason),
        usersRemoved: 0,
      });
    }
    const refusal = (status: number) => (_: unknown, response: import("node:http").ServerResponse) => {
      response.writeHead(status).end();
      return true;
    };
    for (const [status, advice] of [
      [403, "roster-core.readonly"],
      [404, "must end with the version"],
      [429, "limits the rate of requests"],
      [503, "Try again later"],
    ] as const) {
      server.intercept = refusal(status) as never;
      expect(await run(id)).toMatchObject({ state: "failed", reason: expect.stringContaining(advice) });
    }
    // The same page again, and a next page at another host.
    server.intercept = (_, response, url) => {
      if (!url.pathname.endsWith("/users")) return false;
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ users: [user("u0"), user("u1")] }));
      return true;
    };
    expect(await run(id)).toMatchObject({
      state: "failed",
      reason: expect.stringContaining("sends the same page again"),
    });
    server.intercept = (_, response, url) => {
      if (!url.pathname.endsWith("/users")) return false;
      const headers = { link: '<https://evil.example/users?offset=2>; rel="next"', "content-type": "application/json" };
      response.writeHead(200, headers).end(JSON.stringify({ users: [user("u0"), user("u1")] }));
      return true;
    };
    expect(await run(id)).toMatchObject({ state: "failed", reason: expect.stringContaining("at another host") });
    // An empty service, and one that lost most people.
    server.intercept = () => false;
    server.rows.users = [];
    expect(await run(id)).toMatchObject({ state: "failed", reason: expect.stringContaining("at least one person") });
    server.rows.users = [user("u0"), user("u1")];
    expect(await run(id)).toMatchObject({ state: "stopped", usersRemoved: 10 });
    expect(people()).toHaveLength(12);
  });

  it("reports bad records and keeps the others, by the rules of files", async () => {
    give(12);
    const list = server.rows.users as Row[];
    list[3] = user("u3", { givenName: "", familyName: "", username: "" });
    list[4] = user("u4", { givenName: 'Ann "the\nquote", Doe' });
    (server.rows.enrollments as Row[])[5] = enrolment("e5", "u5", { endDate: "2026-13-40" });
    (server.rows.enrollments as Row[])[6] = enrolment("e6", "u6", { endDate: "2026-09-01" });
    (server.rows.enrollments as Row[])[7] = enrolment("e7", "u7", { status: "tobedeleted" });
    list[8] = user("u8", { enabledUser: "false" });
    list[9] = user("u9", { enabledUser: false });
    const done = await run(await define());
    expect(done).toMatchObject({ state: "complete", linesWithErrors: 2, usersCreated: 9 });
    expect(done.errors.map(({ file, column }: Row) => [file, column]).sort()).toEqual([
      ["enrollments.csv", "endDate"],
      ["users.csv", "familyName"],
    ]);
    expect(people()).toEqual(["u0", "u1", "u10", "u11", "u2", "u4", "u5", "u6", "u7"]);
    expect(members("Algebra")).toBe(6);
    expect(api.store.find(users, {}).find(({ email }) => email === `u4@${school()}`)?.name).toContain('"the');
  });

  it("reads only what changed, with tombstones, and everything once a week", async () => {
    give(12);
    const id = await define({ incremental: true, removalThreshold: 30 });
    expect(await run(id)).toMatchObject({ state: "complete", usersCreated: 12 });
    const later = "2026-10-02T08:00:00.000Z";
    const list = server.rows.users as Row[];
    list[0] = user("u0", { status: "tobedeleted", dateLastModified: later });
    list[1] = user("u1", { givenName: "Renamed", roles: [], dateLastModified: later });
    // It vanishes without a tombstone.
    list.splice(5, 1);
    server.asked = [];
    now += 86_400_000;
    const delta = await run(id);
    expect(delta).toMatchObject({ reason: null, state: "complete", usersRemoved: 1, usersCreated: 0, usersChanged: 1 });
    const filters = server.asked.map((path) => new URLSearchParams(path.split("?")[1]).get("filter"));
    expect(new Set(filters)).toEqual(new Set([`dateLastModified>='${CHANGED}'`]));
    expect(people()).toHaveLength(11);
    expect(members("North")).toBe(10);
    now += 7 * 86_400_000;
    server.asked = [];
    expect(await run(id, { confirmed: true })).toMatchObject({ state: "complete", usersRemoved: 1 });
    expect(server.asked.some((path) => path.includes("filter"))).toBe(false);
    expect(people()).not.toContain("u5");
  });

  it("reads version 1.1, with one role and orgs", async () => {
    give(3);
    server.rows.users = ["u0", "u1", "u2"].map((id) => {
      const { roles: _, ...rest } = user(id);
      return { ...rest, role: "teacher", orgs: [ref("o1")] };
    });
    expect(await run(await define())).toMatchObject({ state: "complete", usersCreated: 3 });
    expect(members("North")).toBe(3);
  });

  it("asks for its settings, sends the secret to its own host only, and never shows it", async () => {
    const { url, tokenUrl } = server;
    const json = { name: school(), type: "oneroster-api", url, tokenUrl, ...ONEROSTER_CLIENT };
    for (const [field, value] of [
      ["url", null],
      ["tokenUrl", null],
      ["url", "ftp://sis.example/"],
      ["tokenUrl", "http://sis.example/token"],
    ] as const) {
      const { status, body } = await api.call("POST", "/load-definitions", { json: { ...json, [field]: value } });
      expect([status, JSON.stringify(body)]).toEqual([400, expect.stringContaining(field)]);
    }
    give(1);
    const id = await define();
    const moved = await api.call("PUT", `/load-definitions/${id}`, {
      json: { tokenUrl: "https://evil.example/token" },
    });
    expect(moved.status).toBe(400);
    expect(JSON.stringify(moved.body)).toContain("clientSecret must be given again");
    const wrong = await define({ name: `${school()} 2`, clientSecret: "wrong" });
    const failed = await run(wrong);
    expect(failed).toMatchObject({ state: "failed", reason: expect.stringContaining("gave no token (HTTP 401)") });
    expect(JSON.stringify(failed)).not.toContain("wrong");
    // Basic first, then in the body.
    expect(new URLSearchParams(server.grants.at(-1)?.body).get("client_secret")).toBe("wrong");
  });
});
