import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { BugError } from "../../src/lib/errors.ts";
import deliveries from "../../src/resources/notifications/deliveries.ts";
import notificationRecipients from "../../src/resources/notifications/notification-recipients.ts";
import notifications from "../../src/resources/notifications/notifications.ts";
import { defaultSettings } from "../../src/settings/schema.ts";
import { SAMPLE_PNG, UNKNOWN_ID } from "../support/sample-values.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import { expectError } from "./resource-suite.ts";

let api: ApiFixture;
beforeAll(async () => {
  const settings = { ...defaultSettings(), api: { ...defaultSettings().api, methodOverride: true } };
  api = await openApi(makeTempDir(), { needs: { settings } });
});
afterAll(() => api.close());

const create = async (path: string, json: object) => {
  const answer = await api.call("POST", path, { json });
  expect(answer.text).toContain('"id"');
  return answer.body;
};

describe("relations", () => {
  let lists: { id: string }[];
  let template: { id: string };
  beforeAll(async () => {
    lists = [];
    for (const name of ["B", "A", "C"]) lists.push(await create("/distribution-lists", { name }));
    const confirmation = await create("/confirmation-requests", { name: "Safe?", options: ["Yes", "No"] });
    const distributionListIds = lists.map(({ id }) => id);
    const json = { name: "T", subject: "S", confirmationRequestId: confirmation.id, distributionListIds };
    template = await create("/message-templates", json);
  });

  it("are embedded beside their ids, in order, without nested relations", async () => {
    const { body } = await api.call("GET", `/message-templates/${template.id}`);
    expect(body.distributionLists.map(({ name }: { name: string }) => name)).toEqual(["B", "A", "C"]);
    expect(body.confirmationRequest).toMatchObject({ name: "Safe?", options: ["Yes", "No"] });
    expect(body.confirmationRequest).not.toHaveProperty("permissions");
    expect(body).toMatchObject({
      users: [],
      deviceGroups: [],
      collaborationGroups: [],
      incidentPlan: null,
      voice: null,
    });
  });

  it("are omitted on request", async () => {
    const { body } = await api.call(
      "GET",
      `/message-templates/${template.id}?include-distribution-lists=false&includeUsers=no`,
    );
    expect(body).not.toHaveProperty("distributionLists");
    expect(body).not.toHaveProperty("users");
    expect(body).toHaveProperty("distributionListIds");
    expect(body).toHaveProperty("confirmationRequest");
  });

  it("show the home domain when asked", async () => {
    const { body } = await api.call("GET", `/message-templates/${template.id}?includeDomain=true`);
    expect(body.domain).toMatchObject({ id: api.rootId, name: "Root" });
  });

  it("show the domains of users and who vouches for them when asked", async () => {
    const plain = (await api.call("GET", `/users/${api.adminId}`)).body;
    expect(plain).not.toHaveProperty("domains");
    expect(plain).not.toHaveProperty("providerIdp");
    const { body } = await api.call(
      "GET",
      `/users/${api.adminId}?includeDomains=true&includeIdp=true&includeDomain=true`,
    );
    const root = { id: api.rootId, name: "Root" };
    expect(body).toMatchObject({ domain: root, domains: [root], providerIdp: { type: "built-in", enabled: true } });
    expect(body.providerIdp.id).toBe(plain.providerIdpId);
  });

  it("cost one query each, however many rows", async () => {
    const json = { subject: "S", distributionListIds: lists.map(({ id }) => id) };
    for (let at = 0; at < 20; at++) await create("/message-templates", { ...json, name: `T${at}` });
    const list = vi.spyOn(api.store, "pageInChunks");
    const page = vi.spyOn(api.store, "page");
    const get = vi.spyOn(api.store, "get");
    const { body } = await api.call("GET", "/message-templates?limit=20");
    expect(body.data.at(-1).distributionLists).toHaveLength(3);
    const asked = [...list.mock.calls, ...page.mock.calls, ...get.mock.calls].map(([resource]) => resource.name);
    expect(asked.sort()).toEqual(["confirmation-requests", "distribution-lists", "message-templates"]);
    vi.restoreAllMocks();
  });

  it("are limited in lists to what the caller may see", async () => {
    const { token } = await api.user("Reader", "get /message-templates/*", `get /distribution-lists/${lists[1]?.id}`);
    const { body } = await api.call("GET", `/message-templates/${template.id}`, { token });
    expect(body.distributionLists.map(({ name }: { name: string }) => name)).toEqual(["A"]);
    expect(body.confirmationRequest.name).toBe("Safe?");
  });
});

describe("recipients of a notification", () => {
  it("are listed with and without deleted users, with responses if requested", async () => {
    const user = await api.user("Gone");
    const ask = await create("/confirmation-requests", { name: "Here?", options: ["Yes"] });
    const sent = async (given: object) => {
      const { id } = await api.store.create(notifications, { subject: "Fire", ...given }, api.system, {
        stage: "settled",
      });
      await api.store.create(notificationRecipients, { notificationId: id }, api.system, { userId: user.id });
      return `/notifications/${id}`;
    };
    const [plain, asking] = [await sent({}), await sent({ confirmationRequestId: ask.id })];
    const told = async (at: string) =>
      (await api.call("GET", at)).body.data.map(({ defunct }: { defunct: boolean }) => defunct);
    expect(await told(`${plain}/recipients?includeDefunct=false`)).toEqual([false]);
    expect(await told(`${plain}/recipients?confirmableOnly=true`)).toEqual([]);
    expect(await told(`${asking}/recipients?confirmableOnly=true`)).toEqual([false]);

    const delivery = { userId: user.id } as object;
    const notificationId = plain.slice("/notifications/".length);
    const { id } = await api.store.create(deliveries, { notificationId }, api.system, delivery);
    for (const at of [`${plain}/devices/${id}`, `${plain}/devices?limit=1`]) {
      const show = async (query: string) => {
        const { body } = await api.call("GET", `${at}${at.includes("?") ? "&" : "?"}${query}`);
        return body.data?.[0] ?? body;
      };
      expect(await show("excludeUser=false")).toMatchObject({ userId: user.id, user: { name: "Gone" } });
      expect(await show("excludeUser=true")).toMatchObject({ userId: user.id });
      expect(await show("excludeUser=true")).not.toHaveProperty("user");
    }

    await api.call("DELETE", `/users/${user.id}`);
    expect(await told(`${plain}/recipients`)).toEqual([true]);
    expect(await told(`${plain}/recipients?includeDefunct=false`)).toEqual([]);
  });
});

describe("the user's notifications", () => {
  let own: { id: string; token: string };
  let sent: { id: string };
  beforeEach(async () => {
    own = await api.user("Ann");
    sent = await api.store.create(notifications, { subject: "Fire" }, api.system, { stage: "settled" });
    await api.store.create(notificationRecipients, { notificationId: sent.id }, api.system, { userId: own.id });
  });

  it("are visible to their recipients only", async () => {
    const at = `/users/${own.id}/notifications`;
    const { body } = await api.call("GET", at, { token: own.token });
    expect(body).toMatchObject({ total: 1, data: [{ id: sent.id, permissions: ["get", "delete"] }] });
    expect((await api.call("GET", `${at}/${sent.id}`, { token: own.token })).body.subject).toBe("Fire");
    const other = await api.user("Bob");
    expectError(await api.call("GET", at, { token: other.token }), 403, "forbidden");
    expectError(await api.call("GET", `${at}/${sent.id}`, { token: other.token }), 404, "not-found");
    expectError(await api.call("GET", `/users/${other.id}/notifications/${sent.id}`), 404, "not-found");
  });

  it("are removed from the user's list only", async () => {
    const at = `/users/${own.id}/notifications`;
    expect((await api.call("DELETE", `${at}/${sent.id}`, { token: own.token })).body.message).toBe(
      `deleted ${sent.id}`,
    );
    expect((await api.call("GET", at, { token: own.token })).body.total).toBe(0);
    expectError(await api.call("GET", `${at}/${sent.id}`, { token: own.token }), 404, "not-found");
    expectError(await api.call("DELETE", `${at}/${sent.id}`, { token: own.token }), 404, "not-found");
    expect((await api.call("GET", `/notifications/${sent.id}`)).status).toBe(200);
    expect((await api.call("GET", `/notifications/${sent.id}/recipients`)).body.total).toBe(1);
  });
});

describe("rows", () => {
  it("are filtered by the id of a referenced row where the path allows it", async () => {
    const { id: extensionId } = await create("/extensions", { name: "onprem", type: "endpoint-proxy" });
    const endpoint = await create(`/extensions/${extensionId}/endpoints`, { name: "Here" });
    const at = `/extensions/${extensionId}/endpoints/${endpoint.id}/devices`;
    const device = await create(at, { deviceIdentifier: "SEP001122334455", description: "Room 1", type: "phones" });
    const sent = await api.store.create(notifications, { subject: "Fire" }, api.system, { stage: "settled" });
    const system = { notificationId: sent.id, deviceId: device.id } as object;
    const delivery = await api.store.create(deliveries, { notificationId: sent.id }, api.system, system);
    const byDevice = await api.call("GET", `/notifications/${sent.id}/devices/${device.id}`);
    expect(byDevice.body.id).toBe(delivery.id);
    expect((await api.call("GET", `/notifications/${sent.id}/devices/${delivery.id}`)).body.id).toBe(delivery.id);

    const { id: otherExtension } = await create("/extensions", { name: "other", type: "endpoint-proxy" });
    const elsewhere = at.replace(extensionId, otherExtension);
    expectError(await api.call("GET", `${elsewhere}/${device.id}`), 404, "not-found");
    const json = { deviceIdentifier: "SEP9", description: "d", type: "phones" };
    expectError(await api.call("POST", elsewhere, { json }), 404, "not-found");
    expectError(
      await api.call("POST", at, { json: { ...json, extensionId: otherExtension } }),
      400,
      "invalid-value",
      "extensionId",
    );
  });

  it("answer HEAD as GET, without the body", async () => {
    const get = await api.call("GET", `/users/${api.adminId}`);
    const head = await api.call("HEAD", `/users/${api.adminId}`);
    expect(head.status).toBe(200);
    expect(head.text).toBe("");
    expect(head.headers.get("content-length")).toBe(get.headers.get("content-length"));
  });

  it("are deleted only in the version that was read", async () => {
    const list = await api.call("POST", "/distribution-lists", { json: { name: "Versions" } });
    const at = `/distribution-lists/${list.body.id}`;
    const old = { "if-match": list.headers.get("etag") as string };
    const put = await api.call("PUT", at, { json: { name: "Newer" }, headers: old });
    expect(put.body.name).toBe("Newer");
    expectError(await api.call("PUT", at, { json: { name: "Lost" }, headers: old }), 409, "conflict");
    expectError(await api.call("DELETE", at, { headers: old }), 409, "conflict");
    expect((await api.call("GET", at)).body.name).toBe("Newer");
    const fresh = { "if-match": `"x", ${put.headers.get("etag")}` };
    expect((await api.call("DELETE", at, { headers: fresh })).status).toBe(200);
  });

  it("show addresses of their files, which lead to the bytes", async () => {
    const upload = new File([SAMPLE_PNG], "plan.png");
    const multipart = [
      ["name", "With picture"],
      ["subject", "S"],
      ["image", upload],
    ] as const;
    const made = await api.call("POST", "/message-templates?includeBinaryUrls=true", { multipart });
    const [file] = made.body.imageFiles;
    expect(file).toMatchObject({ fileName: "plan.png", metadata: { width: 1, height: 1 } });
    expect(file.url).toBe(`/api/v1/message-templates/${made.body.id}/image`);
    const bytes = await api.call("GET", file.url);
    expect(bytes.headers.get("content-disposition")).toBe("inline; filename*=UTF-8''plan.png");
    expect(bytes.headers.get("content-length")).toBe(String(SAMPLE_PNG.length));
    const stranger = await api.user("Stranger");
    expectError(await api.call("GET", file.url, { token: stranger.token }), 404, "not-found");
    const reader = await api.user("Reader", "get /message-templates/*");
    expect((await api.call("GET", file.url, { token: reader.token })).status).toBe(200);
  });

  it("take another method by parameter where the settings allow it", async () => {
    const made = await api.call("GET", "/distribution-lists?_method=POST&name=By+link&is-subscribable=true");
    expect(made.body).toMatchObject({ name: "By link", isSubscribable: true });
    const gone = await api.call("GET", `/distribution-lists?_method=DELETE&id=${made.body.id}`);
    expect(gone.body.message).toBe(`deleted ${made.body.id}`);
    expectError(await api.call("GET", "/distribution-lists?_method=BREW"), 400, "invalid-value", "_method");
  });

  it("are validated against the path, on the collection too", async () => {
    const { id } = await create("/distribution-lists", { name: "Judged" });
    const { token } = await api.user("Editor", "get /distribution-lists/*", `put /distribution-lists/${id}`);
    const put = await api.call("PUT", "/distribution-lists", { json: { id, name: "Changed" }, token });
    expect(put.body).toMatchObject({ name: "Changed", permissions: ["get", "put"] });
    expectError(await api.call("DELETE", "/distribution-lists", { json: { id }, token }), 403, "forbidden");
    expectError(await api.call("PUT", "/distribution-lists", { json: { id: UNKNOWN_ID }, token }), 404, "not-found");
  });
});

describe("server errors", () => {
  it("answer 500 and are described in the log only", async () => {
    const behaviours = {
      "distribution-lists": {
        beforeWrite() {
          throw new BugError("the tables are on fire", { table: "x" });
        },
      },
    };
    const broken = await openApi(makeTempDir(), { behaviours });
    const answer = await broken.call("POST", "/distribution-lists", { json: { name: "A" } });
    expectError(answer, 500, "internal");
    expect(answer.text).not.toContain("fire");
    expect(broken.logText()).toContain("the tables are on fire");
    await broken.close();
  });
});
