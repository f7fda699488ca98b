import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { type ContractBody, createContractClient } from "./contract-client.ts";

let daemon: TestDaemon;
const { call, create, refusal } = createContractClient(() => daemon);
let ann: ContractBody;
let annToken: string;
beforeAll(async () => {
  daemon = await startTestDaemon();
  ann = await create("/users", { name: "Ann", email: "ann@example.org" });
  annToken = (await create(`/users/${ann.id}/tokens`, { name: "app" })).token;
});
afterAll(() => daemon.stop());

type Row = readonly [claim: string, check: () => Promise<unknown>];

const SESSION: readonly Row[] = [
  [
    "GET /session echoes the presented token as accessToken; isOnprem is true on an appliance; idleTimeout is in minutes",
    async () =>
      expect((await call("GET", "/session", undefined, annToken)).body).toMatchObject({
        accessToken: annToken,
        userId: ann.id,
        providerId: daemon.first.providerId,
        email: "ann@example.org",
        name: "Ann",
        isOnprem: true,
        idleTimeout: 30,
        idleTimeoutCustom: false,
        mustSetUpSecondFactor: false,
      }),
  ],
  [
    "user override 5..720",
    async () => {
      for (const idleTimeout of [4, 721, 5.5]) {
        expect(await refusal("PUT", `/users/${ann.id}`, { idleTimeout })).toBe("400 invalid-value idleTimeout");
      }
      await call("PUT", `/users/${ann.id}`, { idleTimeout: 720 });
      expect((await call("GET", "/session", undefined, annToken)).body).toMatchObject({
        idleTimeout: 720,
        idleTimeoutCustom: true,
        mustSetUpSecondFactor: false,
      });
      await call("PUT", `/users/${ann.id}`, { idleTimeout: null });
    },
  ],
  [
    "DELETE /v1/session ends the session",
    async () => {
      const { token } = await create(`/users/${ann.id}/tokens`, { name: "short" });
      expect((await call("DELETE", "/session", undefined, token)).status).toBe(200);
      expect(await refusal("GET", "/session", undefined, token)).toBe("401 unauthorized");
    },
  ],
];

const USERS: readonly Row[] = [
  [
    "new users start with minimal permissions",
    async () => {
      const token = (
        await create(`/users/${(await create("/users", { name: "New", email: "new@users.example.org" })).id}/tokens`, {
          name: "t",
        })
      ).token;
      for (const path of ["/distribution-lists", "/devices", "/message-templates", "/security-groups"]) {
        expect(await refusal("GET", path, undefined, token)).toBe("403 forbidden");
      }
      expect(await refusal("POST", "/users", { name: "x", email: "x@users.example.org" }, token)).toBe("403 forbidden");
    },
  ],
  [
    "types regular, anonymous, application, endpoint, support; others are a 400",
    async () => {
      for (const type of ["regular", "anonymous", "application", "endpoint", "support"]) {
        expect(
          (
            await create("/users", {
              name: type,
              type,
              ...(type === "regular" ? { email: "regular@example.org" } : {}),
            })
          ).type,
        ).toBe(type);
        expect((await call("GET", `/users?type=${type}`)).body.data.every((user) => user.type === type)).toBe(true);
      }
      expect(await refusal("POST", "/users", { name: "x", type: "robot", email: "x@users.example.org" })).toBe(
        "400 invalid-value type",
      );
      expect(await refusal("GET", "/users?type=robot")).toBe("400 invalid-value type");
    },
  ],
  [
    "email absent for anonymous and application",
    async () => {
      for (const type of ["anonymous", "application"]) {
        const user = { name: "x", type, email: `${type}@example.org` };
        expect(await refusal("POST", "/users", user)).toBe("400 invalid-value email");
      }
    },
  ],
  [
    "name <= 140, email <= 254",
    async () => {
      await create("/users", { name: "n".repeat(140), email: "n@users.example.org" });
      expect(await refusal("POST", "/users", { name: "n".repeat(141), email: "n@users.example.org" })).toBe(
        "400 invalid-value name",
      );
      const email = `${"e".repeat(243)}@example.org`;
      expect(await refusal("POST", "/users", { name: "n", email })).toBe("400 invalid-value email");
      expect(await refusal("POST", "/users", { name: "n", email: "no address" })).toBe("400 invalid-value email");
    },
  ],
  [
    "lock holds start and end (each nullable); derived isLocked; a locked account is refused",
    async () => {
      const at = `/users/${ann.id}`;
      const past = "2020-01-01T00:00:00.000Z";
      expect((await call("PUT", at, { lock: { start: past } })).body).toMatchObject({
        lock: { start: past, end: null },
        isLocked: true,
      });
      expect(await refusal("GET", "/session", undefined, annToken)).toBe("401 unauthorized");
      expect((await call("PUT", at, { lock: { end: "2021-01-01T00:00:00Z" } })).body).toMatchObject({
        lock: { start: past, end: "2021-01-01T00:00:00.000Z" },
        isLocked: false,
      });
      expect((await call("PUT", at, { lock: null })).body).toMatchObject({ lock: null, isLocked: false });
      expect((await call("GET", "/session", undefined, annToken)).status).toBe(200);
    },
  ],
];

const TOKENS: readonly Row[] = [
  [
    "the answer to the POST holds the value as token, once; only its hash is stored",
    async () => {
      const answer = await create(`/users/${ann.id}/tokens`, { name: "once", expires: null });
      expect(answer).toMatchObject({ name: "once", expires: null, token: expect.any(String) });
      expect((await call("GET", `/users/${ann.id}/tokens/${answer.id}`)).body).not.toHaveProperty("token");
      const { data } = (await call("GET", `/users/${ann.id}/tokens`)).body;
      expect(JSON.stringify(data)).not.toContain(answer.token);
    },
  ],
  [
    "name (required)",
    async () => expect(await refusal("POST", `/users/${ann.id}/tokens`, {})).toBe("400 required name"),
  ],
  [
    "a revoked token is refused at once; tokens know no PUT",
    async () => {
      const { id, token } = await create(`/users/${ann.id}/tokens`, { name: "gone" });
      expect((await call("GET", "/session", undefined, token)).status).toBe(200);
      expect(await refusal("PUT", `/users/${ann.id}/tokens/${id}`, { name: "n" })).toBe("405 method-not-allowed");
      await call("DELETE", `/users/${ann.id}/tokens/${id}`);
      expect(await refusal("GET", "/session", undefined, token)).toBe("401 unauthorized");
    },
  ],
  [
    "expires lies ahead, and can be filtered by __gt and __lt",
    async () => {
      const at = `/users/${ann.id}/tokens`;
      expect(await refusal("POST", at, { name: "x", expires: "2020-01-01T00:00:00Z" })).toBe(
        "400 invalid-value expires",
      );
      const { id } = await create(at, { name: "far", expires: "2090-01-01T00:00:00Z" });
      expect((await call("GET", `${at}?expires__gt=2089-01-01`)).body.data.map((row) => row.id)).toEqual([id]);
      expect((await call("GET", `${at}?name=far&expires__lt=2089-01-01`)).body.total).toBe(0);
    },
  ],
];

const OWN: readonly Row[] = [
  [
    "every user may always read and delete its own session, subscriptions and permissions",
    async () => {
      const list = await create("/distribution-lists", { name: "Own" });
      const subscription = await create(`/users/${ann.id}/subscriptions`, { distributionListId: list.id });
      const grant = await create(`/users/${ann.id}/user-permissions`, { verb: "get", spec: "/brandings/*" });
      for (const path of [`subscriptions/${subscription.id}`, `user-permissions/${grant.id}`]) {
        const at = `/users/${ann.id}/${path}`;
        const seen = await call("GET", at, undefined, annToken);
        expect([at, seen.status, seen.body.permissions]).toEqual([at, 200, ["get", "delete"]]);
        expect((await call("DELETE", at, undefined, annToken)).status).toBe(200);
      }
    },
  ],
  [
    "and manage its own devices, nobody else's",
    async () => {
      const at = `/users/${ann.id}/devices`;
      const device = { type: "email", name: "Mail", deviceIdentifier: "ann@example.org" };
      const { body } = await call("POST", at, device, annToken);
      expect(body).toMatchObject({ ...device, userId: ann.id, disabled: false });
      expect((await call("PUT", `${at}/${body.id}`, { disabled: true }, annToken)).body.disabled).toBe(true);
      expect((await call("DELETE", `${at}/${body.id}`, undefined, annToken)).status).toBe(200);
      const other = await create("/users", { name: "Other", email: "other@users.example.org" });
      expect(await refusal("POST", `/users/${other.id}/devices`, device, annToken)).toMatch(/^40[34] /);
    },
  ],
];

const DEVICES: readonly Row[] = [
  [
    "known device types, and APNS and GCM as the documented spellings; any other is a 400",
    async () => {
      for (const type of [
        "Android",
        "apns",
        "apns-sandbox",
        "SMS",
        "phone-call",
        "email",
        "APNS",
        "GCM",
        "web-push",
        "desktop",
      ]) {
        const user = await create("/users", { name: type, email: `${crypto.randomUUID()}@users.example.org` });
        const device = await create(`/users/${user.id}/devices`, { type, name: "d", deviceIdentifier: "1" });
        expect(device.type).toBe(type);
      }
      const at = `/users/${ann.id}/devices`;
      expect(await refusal("POST", at, { type: "pager", name: "d", deviceIdentifier: "1" })).toBe(
        "400 invalid-value type",
      );
    },
  ],
  [
    "at most 5 devices per user",
    async () => {
      const user = await create("/users", { name: "Five", email: "five@users.example.org" });
      const at = `/users/${user.id}/devices`;
      for (let n = 0; n < 5; n++) await create(at, { type: "SMS", name: "d", deviceIdentifier: `${n}` });
      expect(await refusal("POST", at, { type: "SMS", name: "d", deviceIdentifier: "6" })).toBe("400 limit-exceeded");
    },
  ],
];

const GROUPS: readonly Row[] = [
  [
    'the first super group is "Administrators"; the last super group can\'t be deleted',
    async () => {
      const { data } = (await call("GET", "/security-groups?superGroup=true")).body;
      expect(data.map((group) => group.name)).toEqual(["Administrators"]);
      expect(await refusal("DELETE", `/security-groups/${data[0]?.id}`)).toMatch(/^409 conflict/);
    },
  ],
  [
    "permission = {verb, spec}; members get what the group may, at once, and lose it",
    async () => {
      const group = await create("/security-groups", { name: "Readers" });
      await create(`/security-groups/${group.id}/permissions`, { verb: "get", spec: "/distribution-lists/*" });
      const member = await create(`/security-groups/${group.id}/members`, { userId: ann.id });
      expect((await call("GET", "/distribution-lists", undefined, annToken)).status).toBe(200);
      expect(await refusal("POST", "/distribution-lists", { name: "n" }, annToken)).toBe("403 forbidden");
      expect((await call("GET", `/users/${ann.id}`)).body.securityGroups).toMatchObject([{ name: "Readers" }]);
      await call("DELETE", `/security-groups/${group.id}/members/${member.id}`);
      expect(await refusal("GET", "/distribution-lists", undefined, annToken)).toBe("403 forbidden");
    },
  ],
  [
    "a post names the collection (/users), /* there is accepted too",
    async () => {
      for (const spec of ["/distribution-lists", "/distribution-lists/*"]) {
        const grant = await create(`/users/${ann.id}/user-permissions`, { verb: "post", spec });
        expect((await call("POST", "/distribution-lists", { name: "n" }, annToken)).status).toBe(200);
        await call("DELETE", `/users/${ann.id}/user-permissions/${grant.id}`);
      }
    },
  ],
  [
    "verbs are get, put, post, delete; a spec is a path of at most 1000 characters",
    async () => {
      const at = `/users/${ann.id}/user-permissions`;
      expect(await refusal("POST", at, { verb: "patch", spec: "/users/*" })).toBe("400 invalid-value verb");
      expect(await refusal("POST", at, { verb: "get", spec: `/${"a".repeat(1_000)}` })).toBe("400 invalid-value spec");
      expect(await refusal("POST", at, { verb: "get" })).toBe("400 required spec");
    },
  ],
  [
    "from a user's side: /users/{userId}/security-groups, by the group's id",
    async () => {
      const group = await create("/security-groups", { name: "Side" });
      await create(`/users/${ann.id}/security-groups`, { securityGroupId: group.id });
      const at = `/users/${ann.id}/security-groups/${group.id}`;
      expect((await call("GET", at)).body.securityGroup).toMatchObject({ name: "Side" });
      expect((await call("DELETE", at)).status).toBe(200);
    },
  ],
  [
    "clone: name + (Copy), permissions taken along",
    async () => {
      const group = await create("/security-groups", { name: "Source" });
      await create(`/security-groups/${group.id}/permissions`, { verb: "get", spec: "/users/*" });
      const copy = await create(`/security-groups/${group.id}/clone`);
      expect(copy.name).toBe("Source (Copy)");
      expect((await call("GET", `/security-groups/${copy.id}/permissions`)).body.total).toBe(1);
    },
  ],
];

const SUBSCRIPTIONS: readonly Row[] = [
  [
    "POST /users/{userId}/subscriptions with distributionListId; the same row stands under the list",
    async () => {
      const list = await create("/distribution-lists", { name: "Both" });
      const { id } = await create(`/users/${ann.id}/subscriptions`, { distributionListId: list.id });
      const at = `/distribution-lists/${list.id}/user-subscriptions`;
      expect((await call("GET", `${at}/${id}`)).body).toMatchObject({ id, userId: ann.id, user: { name: "Ann" } });
      const put = { subscriptionEndDate: "2090-01-01T00:00:00Z" };
      expect((await call("PUT", `${at}/${id}`, put)).body.subscriptionEndDate).toBe("2090-01-01T00:00:00.000Z");
      expect((await call("GET", `${at}?userId=${ann.id}`)).body.total).toBe(1);
      expect(await refusal("POST", at, { userId: ann.id })).toMatch(/^409 conflict/);
      expect(await refusal("POST", at, {})).toBe("400 required userId");
      expect(await refusal("POST", at, { userId: list.id })).toBe("400 invalid-value userId");
      expect((await call("DELETE", `${at}/${id}`)).status).toBe(200);
      expect((await call("GET", `/users/${ann.id}/subscriptions`)).body.data.map((row) => row.id)).not.toContain(id);
    },
  ],
  [
    "a list's campaign from bracketed form keys; url is made by us, read-only",
    async () => {
      const form = new FormData();
      const pairs = {
        name: "C",
        "campaign[welcomeMessage]": "Hi",
        "campaign[defaultNotificationDays]": "30",
        "campaign[url]": "http://x",
      };
      for (const [name, value] of Object.entries(pairs)) form.append(name, value);
      const list = await create("/distribution-lists", form);
      expect(list.campaign).toMatchObject({ welcomeMessage: "Hi", defaultNotificationDays: 30 });
      expect((list.campaign as ContractBody).url).not.toBe("http://x");
      const put = await call("PUT", `/distribution-lists/${list.id}`, { campaign: { subscribeTag: "join" } });
      expect(put.body.campaign).toMatchObject({ welcomeMessage: "Hi", subscribeTag: "join" });
      const copy = await create(`/distribution-lists/${list.id}/clone`);
      expect(copy).toMatchObject({ name: "C (Copy)", campaign: { welcomeMessage: "Hi", subscribeTag: "join" } });
    },
  ],
];

const FAMILIES = { SESSION, USERS, TOKENS, OWN, DEVICES, GROUPS, SUBSCRIPTIONS };
for (const [title, rows] of Object.entries(FAMILIES)) {
  describe(title.toLowerCase(), () => {
    it.each(rows)("%s", async (_claim, check) => void (await check()));
  });
}
