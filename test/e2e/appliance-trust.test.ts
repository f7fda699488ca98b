import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sendControlCommand } from "../../src/wiring/control-socket.ts";
import { pollUntil } from "../support/cuttable-proxy.ts";
import { startTestDaemon, TEST_ADMIN, type TestDaemon } from "../support/daemon.ts";

let hub: TestDaemon;
let site: TestDaemon;
const NEW_PASSWORD = "another long password";
/** The super administrator of both. */
let superId: string;

async function make(at: TestDaemon, path: string, body: object, token?: string): Promise<string> {
  const made = await at.call<{ id: string }>("POST", path, body, token);
  expect([path, made.status, made.body]).toEqual([path, 200, made.body]);
  return made.body.id;
}

/** Waits until one side has a row of the other. */
const arrives = (at: TestDaemon, path: string): Promise<number> =>
  pollUntil(
    async () => (await at.call("GET", path)).status,
    (status) => status === 200,
  );

type Session = (
  method: string,
  path: string,
  body: object,
) => Promise<{ status: number; body: Record<string, unknown> }>;

/** Logs in at the console of the appliance; returns how to call its API with the session. */
async function logIn(password = TEST_ADMIN.password): Promise<Session> {
  const headers = { "content-type": "application/json", origin: site.url, "x-carillon-console": "1" };
  const answer = await fetch(`${site.url}/api/login`, {
    method: "POST",
    headers,
    body: JSON.stringify({ ...TEST_ADMIN, password }),
  });
  expect(answer.status).toBe(204);
  const cookie = answer.headers
    .getSetCookie()
    .map((each) => each.split(";")[0])
    .join("; ");
  return async (method, path, body) => {
    const response = await fetch(`${site.url}/api/v1${path}`, {
      ...{ method, headers: { ...headers, cookie }, body: JSON.stringify(body) },
    });
    return {
      status: response.status,
      body: response.status === 204 ? {} : ((await response.json()) as Record<string, unknown>),
    };
  };
}

beforeAll(async () => {
  hub = await startTestDaemon({ isHub: true });
  const alone = await startTestDaemon();
  const { body } = await hub.call<{ code: string }>("POST", "/link/codes", {});
  await alone.cloudLink.site?.enrol({ hub: hub.url, code: body.code, mode: "adopt", authority: null });
  await alone.stop();
  site = await startTestDaemon({ after: alone });
  await pollUntil(
    async () => site.cloudLink.report().link?.state,
    (state) => state === "connected",
  );
  superId = hub.first.userId;
  await arrives(site, `/users/${superId}`);
}, 120_000);
afterAll(async () => {
  await site?.stop();
  await hub?.stop();
});

/** A token of the super administrator, made with the appliance's own command. */
async function stolenToken(): Promise<{ token: string }> {
  const args = { user: TEST_ADMIN.email, name: "stolen" };
  const made = await sendControlCommand(site.dataDir, { order: "token.create", args });
  return made?.result as { token: string };
}

const supersAtHub = async (): Promise<unknown[]> => {
  const { body } = await hub.call<{ data: { id: string; superGroup: boolean }[] }>("GET", "/security-groups");
  const group = body.data.find(({ superGroup }) => superGroup)?.id;
  const members = await hub.call<{ data: { userId: string }[] }>("GET", `/security-groups/${group}/members`);
  return members.body.data.map(({ userId }) => userId);
};

describe("an attacker who controls an appliance", () => {
  it("makes no token that the cloud accepts, not even of the super administrator", async () => {
    const { token } = await stolenToken();
    expect((await site.call("GET", "/session", undefined, token)).status).toBe(200);
    // What is made after it has arrived, so the token would have.
    await arrives(hub, `/sites/${await make(site, "/sites", { name: "Later" }, token)}`);
    expect((await hub.call("GET", "/session", undefined, token)).status).toBe(401);
    expect((await hub.call("GET", "/session", undefined, site.first.token)).status).toBe(401);
    const refused = await site.call("POST", "/users", { name: "Eve", email: "eve@example.org" }, token);
    expect(refused).toMatchObject({
      status: 403,
      body: { message: expect.stringContaining("created in the cloud") },
    });
    const { body } = await hub.call<{ data: { name: string }[] }>("GET", "/users?limit=1000");
    expect(body.data.map(({ name }) => name)).not.toContain("Eve");
  });

  it("gets what a token of the cloud may do there, without super rights", async () => {
    const name = { name: "Ann", email: "ann@example.org", firstName: "Ann" };
    const ann = await make(site, "/users", name, hub.first.token);
    expect(await arrives(hub, `/users/${ann}`)).toBe(200);
    const before = await supersAtHub();
    const group = { name: "Mine", superGroup: true };
    expect((await site.call("POST", "/security-groups", group, hub.first.token)).status).toBe(403);
    expect(await supersAtHub()).toEqual(before);
  });

  it("makes changes in the cloud only for people who logged in with their password", async () => {
    const session = await logIn();
    const bob = await session("POST", "/users", { name: "Bob", email: "bob@example.org" });
    expect(bob.status).toBe(200);
    expect(await arrives(hub, `/users/${bob.body.id}`)).toBe(200);
    const groups = await hub.call<{ data: { id: string; superGroup: boolean }[] }>("GET", "/security-groups");
    const admins = groups.body.data.find(({ superGroup }) => superGroup)?.id;
    const joined = await session("POST", `/security-groups/${admins}/members`, { userId: bob.body.id });
    expect(joined.status).toBe(403);
    expect(await supersAtHub()).toEqual([superId]);
  });

  it("changes the password of a super user in the cloud only by who knows it", async () => {
    const { token } = await stolenToken();
    const password = { password: NEW_PASSWORD, currentPassword: TEST_ADMIN.password };
    const path = `/users/${superId}/password`;
    expect((await site.call("PUT", path, password, token)).status).toBe(403);
    const lock = { lock: { start: null, end: null } };
    expect((await site.call("PUT", `/users/${superId}`, lock, token)).status).toBe(403);
    const logsInAtHub = async (secret: string): Promise<boolean> => {
      const body = JSON.stringify({ email: TEST_ADMIN.email, password: secret });
      const headers = { "content-type": "application/json" };
      return (await fetch(`${hub.url}/api/login`, { method: "POST", headers, body })).ok;
    };
    expect(await logsInAtHub(TEST_ADMIN.password)).toBe(true);
    expect((await (await logIn())("PUT", path, password)).status).toBe(204);
    expect([await logsInAtHub(password.password), await logsInAtHub(TEST_ADMIN.password)]).toEqual([true, false]);
  });

  it("allows no change in the cloud once the appliance is revoked", async () => {
    const session = await logIn(NEW_PASSWORD);
    expect((await session("POST", "/users", { name: "Cid", email: "cid@example.org" })).status).toBe(200);
    expect((await hub.call("DELETE", `/link/appliances/${site.first.endpointId}`)).status).toBe(200);
    await pollUntil(
      async () => site.cloudLink.report().link?.state,
      (state) => state !== "connected",
    );
    expect((await session("POST", "/users", { name: "Dan", email: "dan@example.org" })).status).toBe(503);
    const { body } = await hub.call<{ data: { name: string }[] }>("GET", "/users?limit=1000");
    expect(body.data.map(({ name }) => name).sort()).toEqual(expect.not.arrayContaining(["Dan"]));
  });
});
