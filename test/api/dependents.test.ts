import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { dependentsLists } from "../../src/http/rows/dependents.ts";
import extensions from "../../src/resources/devices/extensions.ts";
import { canonicalPath, createCatalogue } from "../../src/schema/catalogue.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";

let api: ApiFixture;
let group: string;
let list: string;
let template: string;

beforeAll(async () => {
  api = await openApi(makeTempDir());
  group = await make("/device-groups", { name: "Halls", filterType: "ACCEPT" });
  list = await make("/distribution-lists", { name: "Staff" });
  template = await make("/message-templates", {
    name: "T",
    subject: "x",
    deviceGroupIds: [group],
    distributionListIds: [list],
  });
});
afterAll(() => api.close());

const make = async (path: string, json: object): Promise<string> => {
  const answer = await api.call("POST", path, { json });
  if (answer.status !== 200) throw new Error(answer.text);
  return answer.body.id;
};
const dependents = async (path: string, token = api.token) => (await api.call("GET", path, { token })).body;

describe("dependents of a row", () => {
  it("are listed where the API description has them, for existing families", () => {
    const paths = dependentsLists(createCatalogue(api.declarations)).map(
      ({ target, name }) => `${canonicalPath(target).at} ${name.replace(/-dependents$/, "")}`,
    );
    const known = {
      "device-groups": ["base-device-group", "escalation-rule", "message-template", "site-role"],
      "distribution-lists": [
        "area-of-interest-boundary-trigger",
        "collaboration-group",
        "escalation-rule",
        "message-template",
        "site-role",
      ],
      "message-templates": ["area-of-interest-boundary-trigger", "incident-plan-quick-access", "scenario"],
    };
    const expected = Object.entries(known).flatMap(([family, names]) => names.map((name) => `${family} ${name}`));
    expect(paths).toEqual(expect.arrayContaining(expected));
  });

  it("include the domain of a row", async () => {
    for (const path of [`/device-groups/${group}`, `/distribution-lists/${list}`]) {
      expect(await dependents(`${path}/message-template-dependents`)).toEqual({
        total: 1,
        partial: false,
        previous: null,
        next: null,
        data: [
          {
            resourceId: template,
            resourceName: "T",
            domainId: api.rootId,
            domainName: "Root",
            createdAt: expect.stringMatching(/Z$/),
            updatedAt: expect.stringMatching(/Z$/),
          },
        ],
      });
    }
    const child = await make("/device-groups", { name: "Child", filterType: "ACCEPT", baseDeviceGroupIds: [group] });
    const found = await dependents(`/device-groups/${group}/base-device-group-dependents`);
    expect(found.data).toMatchObject([{ resourceId: child, resourceName: "Child" }]);
    expect(await dependents(`/device-groups/${child}/base-device-group-dependents`)).toMatchObject({
      total: 0,
      data: [],
    });
  });

  it("include the parent of a row", async () => {
    const request = await make("/confirmation-requests", { name: "Safe?", options: ["Yes"] });
    const rule = { delay: 1, optionLabel: "Yes", comparison: "LT", comparisonValue: 1, subject: "Nobody answers" };
    const id = await make(`/confirmation-requests/${request}/escalation-rules`, { ...rule, deviceGroupIds: [group] });
    expect((await dependents(`/device-groups/${group}/escalation-rule-dependents`)).data).toMatchObject([
      { resourceId: id, resourceName: "Nobody answers", parentResourceId: request, parentResourceName: "Safe?" },
    ]);
  });

  it("name a role at a site by role and site", async () => {
    const site = await make("/sites", { name: "North" });
    const role = await make("/site-roles", { name: "Wardens" });
    await make(`/sites/${site}/recipients`, { siteRoleId: role, distributionListIds: [list] });
    expect((await dependents(`/distribution-lists/${list}/site-role-dependents`)).data).toMatchObject([
      { resourceId: role, resourceName: "Wardens", parentResourceId: site, parentResourceName: "North" },
    ]);
  });

  it("include groups of other systems, and plans", async () => {
    await api.store.create(extensions, { name: "Chat", type: "collaboration", deviceType: "chat" }, api.system);
    await make("/collaboration-groups", { name: "Ops", type: "chat", distributionListIds: [list] });
    await make("/incident-plans", { name: "Fire", messageTemplateIds: [template] });
    const groups = await dependents(`/distribution-lists/${list}/collaboration-group-dependents`);
    expect(groups.data).toMatchObject([{ resourceName: "Ops" }]);
    const plans = await dependents(`/message-templates/${template}/incident-plan-quick-access-dependents`);
    expect(plans.data).toMatchObject([{ resourceName: "Fire" }]);
  });

  it("comes in pages, in the order asked for, without what the caller does not see", async () => {
    const id = await make("/device-groups", { name: "Paged", filterType: "ACCEPT" });
    for (const name of ["C", "A", "B"]) await make("/message-templates", { name, subject: "x", deviceGroupIds: [id] });
    const at = `/device-groups/${id}/message-template-dependents`;
    const names = ({ data }: { data: { resourceName: string }[] }) => data.map(({ resourceName }) => resourceName);
    const first = await dependents(`${at}?limit=2&sort=name`);
    expect([names(first), first.total, first.partial]).toEqual([["A", "B"], 3, true]);
    const second = await dependents(
      `${at}?limit=2&sort=name&start=${encodeURIComponent(first.next)}&includeTotal=false`,
    );
    expect(names(second)).toEqual(["C"]);
    expect(second).not.toHaveProperty("total");
    expect((await api.call("GET", `${at}?limit=0`)).status).toBe(400);
    const blind = await api.user("Blind", "get /device-groups/*", "get /device-groups/*/message-template-dependents");
    expect(await dependents(at, blind.token)).toMatchObject({ total: 0, data: [] });
    const outside = await api.user("Outside", "get /device-groups/*");
    expect((await api.call("GET", at, { token: outside.token })).status).toBe(403);
    expect((await api.call("GET", at.replace(id, template))).status).toBe(404);
  });
});
