import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";

let api: ApiFixture;
beforeAll(async () => {
  api = await openApi(makeTempDir());
});
afterAll(() => api.close());

const add = async (path: string, body: Record<string, unknown>): Promise<string> => {
  const made = await api.call("POST", path, { json: body });
  expect([made.status, made.body]).toEqual([200, expect.anything()]);
  return (made.body as { id: string }).id;
};
const remove = (path: string, query = "") => api.call("DELETE", `${path}${query}`);
const group = (name: string, more: object = {}) =>
  add("/device-groups", { name, filterType: "REJECT", filters: [], ...more });
const template = (name: string, more: object) => add("/message-templates", { name, subject: name, ...more });

interface Refusal {
  type: string;
  message: string;
  dependents: { type: string; name: string | null; role: string; left: object | null }[];
}

const usesIn = (body: unknown) =>
  (body as Refusal).dependents.map(({ type, name, role }) => [type, name, role].join(" "));

async function expectInUse(path: string, uses: string[]): Promise<void> {
  for (const query of ["", "?dryRun=true", "?detach=false"]) {
    const refused = await remove(path, query);
    expect([refused.status, (refused.body as Refusal).type]).toEqual([409, "in-use"]);
    expect(usesIn(refused.body)).toEqual(uses);
  }
  const kept = await api.call("GET", path);
  expect(kept.status).toBe(200);
}

describe("removing what an emergency uses", () => {
  it("is refused with the list of emergencies, and carried out with detach", async () => {
    const deviceGroupId = await group("Everywhere");
    const lockdown = await template("Lockdown", { priority: "critical", deviceGroupIds: [deviceGroupId] });
    await expectInUse(`/device-groups/${deviceGroupId}`, ["message-templates Lockdown emergency"]);
    const gone = await remove(`/device-groups/${deviceGroupId}`, "?detach=true");
    expect(gone.status).toBe(200);
    const left = await api.call("GET", `/message-templates/${lockdown}`);
    expect((left.body as { deviceGroupIds: string[] }).deviceGroupIds).toEqual([]);
  });

  it("names the emergencies in the message", async () => {
    const deviceGroupId = await group("Named");
    for (const name of ["A", "B", "C", "D", "E"])
      await template(`Named ${name}`, { priority: "critical", deviceGroupIds: [deviceGroupId] });
    const { body } = await remove(`/device-groups/${deviceGroupId}`);
    expect((body as Refusal).message).toMatch(/^In use by “Named .”, “Named .”, “Named .”, 2 more\. Repeat with/);
  });

  it("follows groups of groups, lists, requests and escalation rules", async () => {
    const inner = await group("Inner");
    const outer = await group("Outer", { baseDeviceGroupIds: [inner] });
    await template("Evacuation", { priority: "critical", deviceGroupIds: [outer] });
    await expectInUse(`/device-groups/${inner}`, ["message-templates Evacuation emergency"]);

    const list = await add("/distribution-lists", { name: "Crisis team" });
    const request = await add("/confirmation-requests", { name: "Safe?", options: ["Safe", "Help"] });
    await add(`/confirmation-requests/${request}/escalation-rules`, {
      ...{ delay: 60, optionLabel: "Help", comparison: "GT", comparisonValue: 0, subject: "Help needed" },
      distributionListIds: [list],
    });
    await template("Shelter", { priority: "critical", confirmationRequestId: request });
    await expectInUse(`/distribution-lists/${list}`, ["message-templates Shelter emergency"]);
    await expectInUse(`/confirmation-requests/${request}`, ["message-templates Shelter emergency"]);
  });

  it("counts a normal template that an emergency scenario sends", async () => {
    const deviceGroupId = await group("Scenario group");
    const messageTemplateId = await template("Calm words", { deviceGroupIds: [deviceGroupId] });
    const free = await remove(`/device-groups/${await group("Free")}`);
    expect(free.status).toBe(200);
    await add("/scenarios", {
      ...{ name: "Intruder", backgroundColor: "#aa0000", type: "panic-button" },
      messages: [{ name: "First", messageTemplateId }],
    });
    await expectInUse(`/device-groups/${deviceGroupId}`, ["scenarios Intruder emergency"]);
    // A template of a scenario cannot be removed at all.
    const template1 = await remove(`/message-templates/${messageTemplateId}`, "?detach=true");
    expect([template1.status, (template1.body as Refusal).type]).toEqual([409, "conflict"]);
  });

  it("counts inputs, alarm actions and scheduled messages", async () => {
    const deviceGroupId = await group("Many uses");
    const messageTemplateId = await template("Notice", {});
    await add("/m2m-inputs", {
      name: "Panic button",
      source: "gpio-1",
      messageTemplateId,
      deviceGroupIds: [deviceGroupId],
    });
    const { body } = await api.call("GET", "/alarms?limit=1");
    const [alarm] = (body as { data: { id: string; type: string }[] }).data;
    await add(`/alarms/${alarm?.id}/actions`, {
      triggerOnStatus: "ACTIVE",
      messageTemplateId,
      deviceGroupIds: [deviceGroupId],
    });
    const refused = await remove(`/device-groups/${deviceGroupId}`);
    expect(usesIn(refused.body).sort()).toEqual([
      `alarm-actions ${alarm?.type} emergency`,
      "m2m-inputs Panic button input",
    ]);
  });

  it("finds an emergency after many ordinary uses", async () => {
    const deviceGroupId = await group("Popular");
    for (let at = 0; at < 120; at++) await template(`Ordinary ${at}`, { deviceGroupIds: [deviceGroupId] });
    await template("The last one", { priority: "critical", deviceGroupIds: [deviceGroupId] });
    await expectInUse(`/device-groups/${deviceGroupId}`, ["message-templates The last one emergency"]);
  });

  it("lists ordinary uses in a dry run, and removes the row without a question", async () => {
    const deviceGroupId = await group("Ordinary");
    const lunch = await template("Lunch", { deviceGroupIds: [deviceGroupId] });
    const outer = await group("Outer of ordinary", { baseDeviceGroupIds: [deviceGroupId] });
    const dry = await remove(`/device-groups/${deviceGroupId}`, "?dryRun=true");
    expect([dry.status, (dry.body as { uses: object[] }).uses]).toEqual([
      200,
      [
        { type: "device-groups", id: outer, name: "Outer of ordinary", role: "ordinary" },
        { type: "message-templates", id: lunch, name: "Lunch", role: "ordinary" },
      ],
    ]);
    const gone = await remove(`/device-groups/${deviceGroupId}`);
    expect([gone.status, Object.keys(gone.body as object).sort()]).toEqual([200, ["message", "resources", "status"]]);
  });

  it("counts whom each message would still reach", async () => {
    const list = await add("/distribution-lists", { name: "All staff" });
    const { id } = await api.user("Member");
    await add(`/users/${id}/subscriptions`, { distributionListId: list });
    const deviceGroupId = await group("Whole site");
    const of = (distributionListIds: string[], more: object = {}) => ({
      ...{ priority: "critical", deviceGroupIds: [deviceGroupId], distributionListIds },
      ...more,
    });
    await template("Both", of([list]));
    await template("Devices only", of([]));
    const { body } = await remove(`/device-groups/${deviceGroupId}`);
    expect((body as Refusal).dependents.map(({ name, left }) => [name, left])).toEqual([
      ["Both", { devices: 0, users: 1 }],
      ["Devices only", { devices: 0, users: 0 }],
    ]);
    // Other rows than recipients do not change whom a message reaches.
    const request = await add("/confirmation-requests", { name: "All right?", options: ["Yes"] });
    await template("Asks", { priority: "critical", confirmationRequestId: request });
    const refused = await remove(`/confirmation-requests/${request}`);
    expect((refused.body as Refusal).dependents.map(({ left }) => left)).toEqual([null]);
  });

  it("omits the names of rows that the caller may not see", async () => {
    const deviceGroupId = await group("Shared", { isShared: true });
    await template("Secret plan", { priority: "critical", deviceGroupIds: [deviceGroupId] });
    const { token } = await api.user("Keeper", "get /device-groups/*", "delete /device-groups/*");
    const refused = await api.call("DELETE", `/device-groups/${deviceGroupId}`, { token });
    if (refused.status !== 409) expect(refused.status).toBe(403);
    else expect(JSON.stringify(refused.body)).not.toContain("Secret plan");
  });
});

describe("emptying what an emergency uses", () => {
  it("is refused for the last device of a group, and for a change that leaves none", async () => {
    const extensionId = await add("/extensions", { name: "Site", type: "endpoint-proxy" });
    const devices = `/extensions/${extensionId}/endpoints/${await add(`/extensions/${extensionId}/endpoints`, { name: "A" })}/devices`;
    const identifiers = ["SEP0000000A0001", "SEP0000000A0002"];
    const ids: string[] = [];
    for (const deviceIdentifier of identifiers)
      ids.push(await add(devices, { type: "phones", deviceIdentifier, description: deviceIdentifier }));
    const deviceGroupId = await group("Two phones", { filterType: "REJECT", additionIds: identifiers });
    await template("Fire", { priority: "critical", deviceGroupIds: [deviceGroupId] });
    const emptied = await api.call("PUT", `/device-groups/${deviceGroupId}`, { json: { additionIds: [] } });
    expect([emptied.status, usesIn(emptied.body)]).toEqual([409, ["message-templates Fire emergency"]]);
    const halved = await api.call("PUT", `/device-groups/${deviceGroupId}`, {
      json: { additionIds: [identifiers[0]] },
    });
    expect(halved.status).toBe(200);
    expect((await remove(`${devices}/${ids[1]}`)).status).toBe(200);
    await expectInUse(`${devices}/${ids[0]}`, ["message-templates Fire emergency"]);
    const defunct = await api.call("PUT", `${devices}/${ids[0]}`, { json: { defunct: true } });
    expect(defunct.status).toBe(409);
    const disabled = await api.call("PUT", `/extensions/${extensionId}`, { json: { disabled: true } });
    expect(disabled.status).toBe(409);
    const detached = await api.call("PUT", `/device-groups/${deviceGroupId}?detach=true`, {
      json: { additionIds: [] },
    });
    expect(detached.status).toBe(200);
    expect((await remove(`${devices}/${ids[0]}`)).status).toBe(200);
  });

  it("is refused for the last member of a list", async () => {
    const list = await add("/distribution-lists", { name: "Nurses" });
    const people = [await api.user("Nurse 1"), await api.user("Nurse 2")];
    const memberships: string[] = [];
    for (const { id } of people)
      memberships.push(await add(`/users/${id}/subscriptions`, { distributionListId: list }));
    await template("Code blue", { priority: "critical", distributionListIds: [list] });
    expect((await remove(`/users/${people[0]?.id}/subscriptions/${memberships[0]}`)).status).toBe(200);
    const uses = ["message-templates Code blue emergency"];
    await expectInUse(`/users/${people[1]?.id}/subscriptions/${memberships[1]}`, uses);
    await expectInUse(`/users/${people[1]?.id}`, uses);
    expect((await remove(`/users/${people[0]?.id}`)).status).toBe(200);
  });
});
