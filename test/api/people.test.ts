import { afterAll, beforeAll, describe, expect, it } from "vitest";
import users from "../../src/resources/people/users.ts";
import { canonicalPath, methodsOf } from "../../src/schema/catalogue.ts";
import { UNKNOWN_ID } from "../support/sample-values.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import { expectError } from "./resource-suite.ts";

let api: ApiFixture;
beforeAll(async () => {
  api = await openApi(makeTempDir());
});
afterAll(() => api.close());

const list = async (name: string): Promise<string> =>
  (await api.call("POST", "/distribution-lists", { json: { name } })).body.id;
const iso = (fromNowMs: number) => new Date(Date.now() + fromNowMs).toISOString();

describe("new users", () => {
  const own = (id: string) => [
    ["GET", `/users/${id}`],
    ["GET", "/session"],
    ["GET", `/users/${id}/notifications`],
    ["GET", `/users/${id}/subscriptions`],
    ["GET", `/users/${id}/user-permissions`],
    ["GET", `/users/${id}/devices`],
    ["GET", `/users/${id}/opt-outs`],
    ["GET", `/users/${id}/tokens`],
    ["GET", `/users/${id}/security-groups`],
    ["GET", `/users/${id}/second-factors`],
  ];

  it("may read and change only their own data", async () => {
    const fresh = await api.user("Fresh");
    for (const [method, path] of own(fresh.id)) {
      expect([path, (await api.call(method as string, path as string, { token: fresh.token })).status]).toEqual([
        path,
        200,
      ]);
    }
    const device = { type: "SMS", name: "Mine", deviceIdentifier: "+4930123" };
    const made = await api.call("POST", `/users/${fresh.id}/devices`, { json: device, token: fresh.token });
    expect(made.status).toBe(200);
    for (const resource of api.declarations) {
      const { at } = canonicalPath(resource);
      const ours = at.replace("{userId}", fresh.id).replace(/\{\w+\}/g, UNKNOWN_ID);
      const others = at.replace("{userId}", api.adminId).replace(/\{\w+\}/g, UNKNOWN_ID);
      for (const path of new Set([ours, others])) {
        if (own(fresh.id).some(([, allowed]) => allowed === `/${path}`)) continue;
        const answer = await api.call("GET", `/${path}`, { token: fresh.token });
        if (answer.status === 200)
          expect([path, answer.body.data.map(({ id }: { id: string }) => id)]).toEqual([path, [fresh.id]]);
        else expect([path, [403, 404]]).toEqual([path, expect.arrayContaining([expect.any(Number)])]);
        if (path === others && path.startsWith("users/")) expect([path, answer.status]).toEqual([path, 403]);
        if (!methodsOf(canonicalPath(resource)).includes("post")) continue;
        const written = await api.call("POST", `/${path}`, { json: {}, token: fresh.token });
        if (path !== `users/${fresh.id}/devices`)
          expect([path, [403, 404].includes(written.status)]).toEqual([path, true]);
      }
    }
  });

  it("cannot grant themselves more permissions", async () => {
    const fresh = await api.user("Climber");
    const group = api.store.all<{ id: string }>("SELECT id FROM security_groups")[0]?.id;
    for (const [path, json] of [
      [`/users/${fresh.id}/user-permissions`, { verb: "get", spec: "/users/*" }],
      [`/users/${fresh.id}/tokens`, { name: "x" }],
      [`/users/${fresh.id}/security-groups`, { securityGroupId: group }],
      [`/security-groups/${group}/members`, { userId: fresh.id }],
      [`/users/${fresh.id}/subscriptions`, { distributionListId: await list("Closed") }],
    ] as const) {
      expect([path, (await api.call("POST", path, { json, token: fresh.token })).status]).toEqual([path, 403]);
    }
    const renamed = await api.call("PUT", `/users/${fresh.id}`, { json: { name: "Other" }, token: fresh.token });
    expect(renamed.status).toBe(403);
  });
});

describe("users", () => {
  it.each(["regular", "anonymous", "application", "endpoint", "support"])("of type %s", async (type) => {
    const json = { name: `A ${type}`, type, ...(type === "regular" ? { email: "regular@example.org" } : {}) };
    const user = (await api.call("POST", "/users", { json })).body;
    expect(user).toMatchObject({ type, isLocked: false, source: "manual", fromRegularUserLoader: false });
    expect((await api.call("GET", `/users?type=${type}`)).body.data.map(({ id }: { id: string }) => id)).toContain(
      user.id,
    );
  });

  it("are locked from the start to the end of the lock, without a gap", async () => {
    const { id, token } = await api.user("Locked");
    const lock = async (start: string | null, end: string | null): Promise<[boolean, number]> => {
      const answer = await api.call("PUT", `/users/${id}`, { json: { lock: { start, end } } });
      return [answer.body.isLocked, (await api.call("GET", `/users/${id}`, { token })).status];
    };
    expect(await lock(iso(3_600_000), null)).toEqual([false, 200]);
    expect(await lock(iso(-3_600_000), iso(-1_000))).toEqual([false, 200]);
    expect(await lock(iso(-1_000), iso(3_600_000))).toEqual([true, 401]);
    expect(await lock(null, null)).toEqual([true, 401]);
    const listed = await list("Of the locked");
    await api.call("POST", `/distribution-lists/${listed}/user-subscriptions`, { json: { userId: id } });
    const rows = await api.call("GET", `/distribution-lists/${listed}/user-subscriptions`);
    expect(rows.body.data[0]).toMatchObject({ userId: id, userIsLocked: true });
    expect((await api.call("PUT", `/users/${id}`, { json: { lock: null } })).body).toMatchObject({
      isLocked: false,
      lock: null,
    });
    const wrong = await api.call("PUT", `/users/${id}`, { json: { lock: { start: iso(2_000), end: iso(1_000) } } });
    expect(wrong.status).toBe(400);
  });

  it("have an idle timeout of 5 to 720 minutes, and carry passwordResetRequired", async () => {
    const { id } = await api.user("Idle");
    for (const [idleTimeout, status] of [
      [4, 400],
      [5, 200],
      [720, 200],
      [721, 400],
      [null, 200],
    ] as const) {
      expect((await api.call("PUT", `/users/${id}`, { json: { idleTimeout } })).status).toBe(status);
    }
    const answer = await api.call("PUT", `/users/${id}`, { json: { passwordResetRequired: true } });
    expect(answer.body.passwordResetRequired).toBe(true);
  });
});

describe("the email address of a regular user", () => {
  const refused = async (method: string, path: string, json: object) =>
    expectError(await api.call(method, path, { json }), 400, "required", "email");

  it.each([{}, { email: null }, { type: "regular" }, { type: "regular", email: null }])(
    "is required of a new one: %j",
    async (given) => {
      const name = `Without ${JSON.stringify(given)}`;
      await refused("POST", "/users", { name, ...given });
      expect((await api.call("GET", `/users?name=${encodeURIComponent(name)}`)).body.total).toBe(0);
      const answer = await api.call("POST", "/users", { json: { name, ...given, type: "anonymous" } });
      expect(answer.status).toBe(200);
    },
  );

  it("says what to do for a person without one", async () => {
    const { body } = await api.call("POST", "/users", { json: { name: "Nina" } });
    expect(body.errors).toEqual([
      {
        field: "email",
        type: "required",
        message: "A regular user needs an email address to log in. Use the type anonymous for a person without one.",
        sentence: { code: "field.field-email-is-required-for-a-user-of-type-regular", params: {} },
      },
    ]);
  });

  it("is neither cleared, nor missing when another type becomes regular", async () => {
    const json = { name: "Olga", email: "olga@example.org" };
    const { id } = (await api.call("POST", "/users", { json })).body;
    await refused("PUT", `/users/${id}`, { email: null });
    expectError(await api.call("PUT", `/users/${id}`, { json: { email: "" } }), 400, "invalid-value", "email");
    expect((await api.call("PUT", `/users/${id}`, { json: { email: null, type: "support" } })).status).toBe(200);
    await refused("PUT", `/users/${id}`, { type: "regular" });
    const again = { type: "regular", email: "olga@example.org" };
    expect((await api.call("PUT", `/users/${id}`, { json: again })).body).toMatchObject(again);
  });

  it("may be absent from users that a directory made or that are stored without one", async () => {
    const { id } = await api.store.create(users, { name: "Stored" }, api.system);
    const read = (await api.call("GET", `/users/${id}`)).body;
    expect(read).toMatchObject({ type: "regular", email: null });
    const json = { ...read, name: "Renamed", idleTimeout: 30 };
    expect((await api.call("PUT", `/users/${id}`, { json })).body).toMatchObject({ name: "Renamed", email: null });
    const email = "stored@example.org";
    expect((await api.call("PUT", `/users/${id}`, { json: { email } })).body.email).toBe(email);
    await refused("PUT", `/users/${id}`, { email: null });
  });
});

describe("subscriptions", () => {
  it("are hidden once they have ended, and can be resumed", async () => {
    const { id } = await api.user("Short");
    const distributionListId = await list("Short courses");
    const past = await api.call("POST", `/users/${id}/subscriptions`, {
      json: { distributionListId, subscriptionEndDate: iso(-1_000) },
    });
    expect((await api.call("GET", `/users/${id}`)).body.subscriptions).toEqual([]);
    await api.call("PUT", `/users/${id}/subscriptions/${past.body.id}`, { json: { subscriptionEndDate: null } });
    expect((await api.call("GET", `/users/${id}`)).body.subscriptions).toMatchObject([{ distributionListId }]);
  });

  it("are limited to 100,000 per list, also under parallel requests; ended ones do not count", async () => {
    const distributionListId = await list("Full");
    await api.store.write((tx) => {
      tx.run(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 99999)
         INSERT INTO users (id, created_at, updated_at, name, type) SELECT uuid7(), 0, 0, 'Pupil', 'regular' FROM n`,
      );
      tx.run(
        `INSERT INTO subscriptions (id, created_at, updated_at, user_pk, distribution_list_pk)
         SELECT uuid7(), 0, 0, u.pk, l.pk FROM users u JOIN distribution_lists l ON l.id = ? WHERE u.name = 'Pupil'`,
        distributionListId,
      );
    });
    const ended = (await api.store.create(users, { name: "Ended" }, api.system)).id;
    const people = await Promise.all(
      Array.from({ length: 50 }, (_, at) => api.store.create(users, { name: `Late ${at}` }, api.system)),
    );
    const path = `/distribution-lists/${distributionListId}/user-subscriptions`;
    const over = await api.call("POST", path, { json: { userId: ended, subscriptionEndDate: iso(-1_000) } });
    expect(over.status).toBe(200);
    const answers = await Promise.all(people.map(({ id }) => api.call("POST", path, { json: { userId: id } })));
    const statuses = answers.map(({ status }) => status);
    expect([statuses.filter((status) => status === 200).length, statuses.length]).toEqual([1, 50]);
    const refused = answers.find(({ status }) => status !== 200);
    expect(refused?.body).toMatchObject({
      status: 400,
      type: "limit-exceeded",
      message: "Limit of 100000 subscriptions reached.",
    });
    const renewed = await api.call("PUT", `${path}/${over.body.id}`, { json: { subscriptionEndDate: null } });
    expect(renewed.body.type).toBe("limit-exceeded");
    const taken = answers.find(({ status }) => status === 200);
    await api.call("PUT", `${path}/${taken?.body.id}`, { json: { subscriptionEndDate: iso(-1_000) } });
    expect((await api.call("PUT", `${path}/${over.body.id}`, { json: { subscriptionEndDate: null } })).status).toBe(
      200,
    );
  }, 60_000);
});

describe("groups of a directory", () => {
  it("are bound to security groups and lists, have their own id, and count their members", async () => {
    const group = (await api.call("POST", "/scim-groups", { json: { name: "Teachers", externalId: "x-1" } })).body;
    expect((await api.call("POST", "/scim-groups", { json: { name: "Other", externalId: "X-1" } })).status).toBe(409);
    const { id: userId } = await api.user("Teacher");
    await api.call("POST", `/scim-groups/${group.id}/members`, { json: { userId } });
    const holder = (await api.call("POST", "/security-groups", { json: { name: "Senders" } })).body;
    for (const at of [`/security-groups/${holder.id}`, `/distribution-lists/${await list("Teachers")}`]) {
      const tie = await api.call("POST", `${at}/scim-groups?includeMemberCounts=true`, {
        json: { scimGroupId: group.id },
      });
      expect(tie.body).toMatchObject({ scimGroupId: group.id, name: "Teachers", memberCount: 1 });
      const listed = await api.call("GET", `${at}/scim-groups`);
      expect(listed.body.data).toMatchObject([{ id: tie.body.id, name: "Teachers" }]);
      expect(listed.body.data[0]).not.toHaveProperty("memberCount");
      expect((await api.call("POST", `${at}/scim-groups`, { json: { scimGroupId: group.id } })).status).toBe(409);
      expect((await api.call("POST", `${at}/scim-groups`, { json: { scimGroupId: UNKNOWN_ID } })).status).toBe(400);
      expect((await api.call("DELETE", `${at}/scim-groups/${group.id}`)).status).toBe(200);
      expect((await api.call("GET", `${at}/scim-groups`)).body.total).toBe(0);
    }
  });
});
