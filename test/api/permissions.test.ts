import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import { expectError } from "./resource-suite.ts";

let api: ApiFixture;
beforeAll(async () => {
  api = await openApi(makeTempDir());
});
afterAll(() => api.close());

const made = async (path: string, json: object): Promise<string> =>
  (await api.call("POST", path, { json })).body.id as string;

describe("all permissions of a user", () => {
  it("are returned with their origin, also to the user", async () => {
    const { id, token } = await api.user("Ann", "get /users/*");
    const group = await made("/security-groups", { name: "Staff" });
    await made(`/security-groups/${group}/members`, { userId: id });
    await made(`/security-groups/${group}/permissions`, { verb: "put", spec: "/users/*" });
    const { body } = await api.call("GET", `/users/${id}/all-permissions`, { token });
    const users = body.data.find(({ spec }: { spec: string }) => spec === "/users/*");
    expect(users.verbs.sort()).toEqual(["get", "put"]);
    expect(users.sources).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ from: "own", verb: "get" }),
        expect.objectContaining({ from: "group", verb: "put", securityGroupName: "Staff" }),
      ]),
    );
    expect(body.total).toBe(body.data.length);
    const stranger = await api.user("Ben");
    const refused = await api.call("GET", `/users/${id}/all-permissions`, { token: stranger.token });
    expectError(refused, 403, "forbidden");
  });
});

describe("an explanation", () => {
  it("says whether and why", async () => {
    const { id, token } = await api.user("Cat", "get /users/*");
    const ask = (query: string) => api.call("GET", `/permission-explanations?${query}`, { token });
    const granted = await ask(`verb=get&path=/users/${api.adminId}`);
    expect(granted.body).toMatchObject({ userId: id, granted: true, domainId: api.rootId, missing: [] });
    expect(granted.body.grants).toMatchObject([{ from: "own", spec: "/users/*" }]);
    const refused = await ask(`verb=delete&path=/users/${api.adminId}`);
    expect(refused.body).toMatchObject({ granted: false, grants: [] });
    expect(refused.body.missing[0]).toContain("No permission covers");
    expect(refused.body.missingSentences).toMatchObject([{ code: "permission.uncovered" }]);
    expect((await ask(`verb=delete&path=/users/${id}&userId=${api.adminId}`)).body.granted).toBe(true);
    expectError(await ask("path=/users"), 400, "required", "verb");
    expectError(await ask("verb=get"), 400, "required", "path");
    expectError(await ask("verb=get&path=users/*"), 400, "invalid-value", "path");
    expectError(await ask(`verb=get&path=/users&domainId=${id}`), 400, "invalid-value", "domainId");
    expectError(await ask(`verb=get&path=/users&userId=${api.rootId}`), 404, "not-found");
  });
});

describe("a security group", () => {
  it("is copied to domains", async () => {
    const [one, two] = [await made("/domains", { name: "One" }), await made("/domains", { name: "Two" })];
    const group = await made("/security-groups", { name: "Desk" });
    const answer = await api.call("POST", `/security-groups/${group}/clone-to-domains`, {
      json: { domainIds: [one, two] },
    });
    expect(answer.body.copiedSecurityGroups).toMatchObject([{ name: "Desk" }, { name: "Desk" }]);
    const [copy] = answer.body.copiedSecurityGroups;
    expect((await api.call("GET", `/security-groups/${copy.id}`)).body.domainId).toBe(one);
    const wrong = await api.call("POST", `/security-groups/${group}/clone-to-domains`, { json: {} });
    expectError(wrong, 400, "required", "domainIds");
  });

  it("allows certain templates", async () => {
    const group = await made("/security-groups", { name: "Bound" });
    const template = await made("/message-templates", { name: "t", subject: "s" });
    const at = `/security-groups/${group}/allowed-message-templates`;
    expect((await api.call("POST", at, { json: { id: template } })).body).toMatchObject({ id: template, name: "t" });
    expect((await api.call("GET", at)).body).toMatchObject({ total: 1, data: [{ id: template }] });
    expect((await api.call("GET", `${at}/${template}`)).body.permissions).toEqual(["get", "delete"]);
    expectError(await api.call("POST", at, { json: { id: group } }), 400, "invalid-value", "id");
    expect((await api.call("DELETE", `${at}/${template}`)).body.message).toBe(`deleted ${template}`);
    expect((await api.call("GET", at)).body.total).toBe(0);
  });
});
