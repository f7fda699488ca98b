import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { createContractClient } from "./contract-client.ts";

let daemon: TestDaemon;
const { call, create, refusal } = createContractClient(() => daemon);
beforeAll(async () => {
  daemon = await startTestDaemon();
});
afterAll(() => daemon.stop());

async function names(path: string, member = "name"): Promise<string[]> {
  const { status, body } = await call("GET", path);
  expect([path, status]).toEqual([path, 200]);
  return body.data.map((row) => String(row[member]));
}

describe("lists of notifications", () => {
  it("filter by status, preview, source, template and whether they accept responses", async () => {
    const list = await create("/distribution-lists", { name: "All" });
    const ask = await create("/confirmation-requests", { name: "Ok?", options: ["Yes"] });
    const base = { distributionListIds: [list.id], subject: "Plain" };
    const plain = await create("/message-templates", { ...base, name: "Plain" });
    const asking = await create("/message-templates", {
      ...base,
      name: "Asking",
      subject: "Asking",
      confirmationRequestId: ask.id,
    });
    for (const template of [plain, asking]) await create("/notifications", { messageTemplateId: template.id });
    await create("/notifications", { messageTemplateId: plain.id, draft: true });
    await expect
      .poll(() => names("/notifications?filterNotificationStatuses=finished", "subject"))
      .toEqual(["Plain", "Asking"]);
    await create("/message-templates", { ...base, name: "Loud", alertTone: "klaxon" });
    expect(await names("/message-templates?inferredMessageType=Text")).toEqual(["Plain", "Asking"]);
    expect(await names("/message-templates?inferredMessageType=TextAndAudio&name=Loud")).toEqual(["Loud"]);
    expect(await refusal("GET", "/message-templates?inferredMessageType=Dance")).toBe(
      "400 invalid-value inferredMessageType",
    );
    const found = (query: string) =>
      names(`/notifications?${query}`, "subject").then((subjects) => subjects.join(", "));
    expect(await found("draftFilter=draft")).toBe("Plain");
    expect(await found("draftFilter=nondraft")).toBe("Plain, Asking");
    expect(await found("draftFilter=all&confirmableOnly=true")).toBe("Asking");
    expect(await found("filterNotificationStatuses[]=draft&filterNotificationStatuses[]=finished")).toBe(
      "Plain, Asking, Plain",
    );
    expect(await found("filter-notification-statuses=active,draft")).toBe("Plain");
    expect(await found(`includeByMessageTemplateIds=${asking.id}`)).toBe("Asking");
    expect(await found("includeNotificationTypes=api&draftFilter=nondraft")).toBe("Plain, Asking");
    expect(await found("excludeNotificationTypes=api,alarm")).toBe("");
    for (const query of [
      "draftFilter=some",
      "filterNotificationStatuses=late",
      "includeNotificationTypes=x",
      "includeByMessageTemplateIds=3",
    ])
      expect(await refusal("GET", `/notifications?${query}`)).toBe(`400 invalid-value ${query.split("=")[0]}`);
  });
});

describe("templates and notifications", () => {
  it("filter by reach of appliance devices, and omit their parts", async () => {
    const group = await create("/device-groups", { name: "Halls", filterType: "REJECT" });
    const ring = { name: "Rings", subject: "Ring", deviceGroupIds: [group.id] };
    const { id } = await create("/message-templates", ring);
    expect(await names("/message-templates?onpremEnabled=true")).toEqual(["Rings"]);
    expect(await names("/message-templates?onpremEnabled=false")).not.toContain("Rings");
    expect(await names("/message-templates?onpremEnabled=true&inferredMessageType=TextAndAudio")).toEqual([]);
    expect(await names("/message-templates?onpremEnabled=true&inferredMessageType=Text")).toEqual(["Rings"]);

    const sent = await create("/notifications", { messageTemplateId: id, draft: true });
    expect(sent).toMatchObject({ deviceGroups: [{ id: group.id }], messageTemplate: { id } });
    for (const path of [`/notifications/${sent.id}`, "/notifications"]) {
      const shown = async (query: string) => {
        const { body } = await call("GET", `${path}${query}`);
        return path === "/notifications" ? body.data.find((row) => row.id === sent.id) : body;
      };
      const raw = await shown("?raw=true");
      expect(raw).toMatchObject({ subject: "Ring", deviceGroupIds: [group.id], messageTemplateId: id });
      expect(raw).not.toHaveProperty("deviceGroups");
      expect(raw).not.toHaveProperty("messageTemplate");
      expect(await shown("?raw=false")).toHaveProperty("messageTemplate");
    }
  });
});

describe("lists of users and groups", () => {
  it("users are found by their devices, and without those of directories", async () => {
    const [eve, bob] = [
      await create("/users", { name: "Eve", email: "eve@users.example.org" }),
      await create("/users", { name: "Bob", email: "bob@users.example.org" }),
    ];
    await create(`/users/${eve.id}/devices`, { type: "email", name: "Mail", deviceIdentifier: "eve@example.org" });
    await create(`/users/${bob.id}/devices`, { type: "SMS", name: "Phone", deviceIdentifier: "+4930123" });
    expect(await names("/users?deviceType=email")).toEqual(["Eve"]);
    expect(await names("/users?deviceIdentifier=%2B4930123")).toEqual(["Bob"]);
    expect(await names("/users?deviceType=email&deviceIdentifier=%2B4930123")).toEqual([]);
    const group = await create("/scim-groups", { name: "Staff", externalId: "x" });
    await create(`/scim-groups/${group.id}/members`, { userId: bob.id });
    expect(await names("/users?excludeScim=true")).not.toContain("Bob");
    expect(await names("/users?excludeScim=false")).toContain("Bob");
  });

  it("filter the groups of a device, and appliances by health", async () => {
    const { extensionId, endpointId } = daemon.first;
    const at = `/extensions/${extensionId}/endpoints`;
    const body = { type: "phones", deviceIdentifier: "SEP001122334499", description: "Room 9" };
    const phone = await create(`${at}/${endpointId}/devices`, body);
    const base = await create("/device-groups", {
      name: "Base",
      filterType: "REJECT",
      additionIds: ["SEP001122334499"],
    });
    await create("/device-groups", { name: "None", filterType: "REJECT" });
    await create("/device-groups", { name: "Above", filterType: "ACCEPT", baseDeviceGroupIds: [base.id] });
    expect(await names(`/devices/${phone.id}/device-groups`)).toEqual(["Base", "Above"]);
    const { status } = (await call("GET", `${at}/${endpointId}`)).body;
    expect(await names(`${at}?status=${status}`, "id")).toEqual([endpointId]);
    const others = ["GREEN", "YELLOW", "RED"].filter((each) => each !== status).join(",");
    expect(await names(`${at}?includedStatuses=${others}`, "id")).toEqual([]);
    const one = `${at}/${endpointId}?includedStatuses=`;
    expect((await call("GET", `${one}${status}`)).body.id).toBe(endpointId);
    expect(await refusal("GET", `${one}${others}`)).toBe("404 not-found");
    expect(await refusal("GET", `${one}BLUE`)).toBe("400 invalid-value includedStatuses");
    expect(await refusal("GET", `/extensions/${endpointId}/endpoints/${endpointId}`)).toBe("404 not-found");
    expect(await refusal("GET", `${at}?status=BLUE`)).toBe("400 invalid-value status");
    const detailed = (await call("GET", `${at}?includeFailoverDetails=true`)).body.data[0];
    expect(detailed?.failoverDetails).toMatchObject({ endpointId, state: "active", role: "standalone" });
  });
});

it("everybody reads and changes the own profile, and sees in few words what it may do", async () => {
  const eve = await create("/users", { name: "Eve 2", email: "eve-2@users.example.org" });
  const { token } = await create(`/users/${eve.id}/tokens`, { name: "t" });
  const at = `/users/${eve.id}`;
  const as = <T = Record<string, unknown>>(method: string, path: string, body?: object) =>
    daemon.call<T>(method, path, body, String(token));
  const change = { preferredName: "Evi", preferredTimezone: "Europe/Berlin", preferredLanguage: "de-DE" };
  expect((await as("PUT", `${at}/profile`, change)).body).toEqual({ userId: eve.id, name: "Eve 2", ...change });
  expect((await as("GET", `${at}/profile`)).body).toMatchObject(change);
  expect((await as("PUT", `${at}/profile`, { preferredTimezone: "Berlin" })).status).toBe(400);
  expect((await as("PUT", `${at}/profile`, { preferredName: null })).body).toMatchObject({ preferredName: null });
  expect((await as("PUT", `/users/${daemon.first.userId}/profile`, change)).status).toBeGreaterThanOrEqual(403);
  const sets = async () =>
    (await as<{ data: { name: string }[] }>("GET", `${at}/all-permission-sets`)).body.data.map(({ name }) => name);
  expect(await sets()).toEqual([]);
  await create(`${at}/user-permissions`, { verb: "post", spec: "/notifications" });
  expect(await sets()).toEqual(["notification-sender"]);
  const mine = (await call("GET", `/users/${daemon.first.userId}/all-permission-sets`)).body;
  expect(mine).toMatchObject({ total: 6, partial: false });
});
