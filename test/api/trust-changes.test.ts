import { afterAll, beforeAll, describe, expect, it } from "vitest";
import users from "../../src/resources/people/users.ts";
import auditEntries from "../../src/resources/security/audit-entries.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import { expectError } from "./resource-suite.ts";

let api: ApiFixture;
let administrators: string;
beforeAll(async () => {
  api = await openApi(makeTempDir());
  administrators = (await api.call("GET", "/security-groups?superGroup=true")).body.data[0].id;
});
afterAll(() => api.close());

const told = (): (string | undefined)[] =>
  api.store
    .find(auditEntries, { op: "trust-change" })
    .map(({ details }) => (details as { change?: string } | null)?.change);

const made = async (path: string, json: object): Promise<string> =>
  (await api.call("POST", path, { json })).body.id as string;

describe("a break-glass account", () => {
  it("is created by super users only, for a member of a super group", async () => {
    const manager = await api.user("Manager", "get /users/*", "put /users/*", "post /users/*");
    const friend = await made("/users", { name: "Friend", email: "friend@example.org" });
    const change = (id: string, token?: string) =>
      api.call("PUT", `/users/${id}`, { json: { breakGlass: true }, ...(token ? { token } : {}) });
    for (const id of [friend, manager.id]) expectError(await change(id, manager.token), 403, "forbidden");
    const invented = { name: "Eve", email: "eve@example.org", breakGlass: true };
    expectError(await api.call("POST", "/users", { json: invented, token: manager.token }), 403, "forbidden");
    expectError(await change(friend), 400, "invalid-value", "breakGlass");
    expectError(await api.call("POST", "/users", { json: invented }), 400, "invalid-value", "breakGlass");
    await made(`/security-groups/${administrators}/members`, { userId: friend });
    expect((await change(friend)).body.breakGlass).toBe(true);
    // What it is already needs no new right.
    expect(
      (await api.call("PUT", `/users/${friend}`, { json: { breakGlass: true, name: "Best friend" } })).status,
    ).toBe(200);
    expect((await api.call("PUT", `/users/${friend}`, { json: { breakGlass: false } })).status).toBe(200);
    expect(api.store.get(users, friend)?.breakGlass).toBe(false);
    expect(told()).toEqual([
      "Friend is now a member of the super group Administrators.",
      "Friend is now a break-glass account.",
      "Best friend is no longer a break-glass account.",
    ]);
  });
});

describe("a super group", () => {
  it("leaves a note of what makes or ends it, and of who joins and leaves it", async () => {
    const before = told().length;
    const group = await made("/security-groups", { name: "Helpers" });
    const user = await made("/users", { name: "Ann", email: "ann@example.org" });
    const member = await made(`/security-groups/${group}/members`, { userId: user });
    await api.call("PUT", `/security-groups/${group}`, { json: { superGroup: true } });
    await api.call("DELETE", `/security-groups/${group}/members/${member}`);
    await api.call("PUT", `/security-groups/${group}`, { json: { name: "Heads" } });
    await api.call("PUT", `/security-groups/${group}`, { json: { superGroup: false } });
    await api.call("PUT", `/security-groups/${group}`, { json: { superGroup: true } });
    await api.call("DELETE", `/security-groups/${group}`);
    expect(told().slice(before)).toEqual([
      "Security group Helpers is now a super group.",
      "Ann is no longer a member of the super group Helpers.",
      "Security group Heads is no longer a super group.",
      "Security group Heads is now a super group.",
      "Security group Heads was deleted, a super group.",
    ]);
  });
});
