import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import { expectError } from "./resource-suite.ts";

let api: ApiFixture;
let list: string;
let domainId: string;
beforeAll(async () => {
  api = await openApi(makeTempDir());
  domainId = (await api.call("GET", "/session/domains")).body.actingDomainId;
  list = (await api.call("POST", "/distribution-lists", { json: { name: "Staff" } })).body.id;
});
afterAll(() => api.close());

const named = (body: { warnings?: { code: string; parameter: string }[] }) =>
  (body.warnings ?? []).map(({ code, parameter }) => [code, parameter]);

describe("what a request contains without effect", () => {
  it.each([
    ["/distribution-lists?nmae=Staff", ["nmae"]],
    ["/distribution-lists?offset=3&page=2", ["offset", "page"]],
    ["/distribution-lists?per-page=2", ["perPage"]],
    ["/users?name__like=A", ["name__like"]],
    ["/users?includeEverything=true", ["includeEverything"]],
    ["/devices?SiteName=North", ["SiteName"]],
    ["/session?foo=1", ["foo"]],
    ["/reports?foo[bar]=1", ["foo"]],
  ])("is named for GET %s, and the answer is that without it", async (path, parameters) => {
    const { status, body } = await api.call("GET", path);
    expect(status).toBe(200);
    expect(named(body)).toEqual(parameters.map((each) => ["unknown-parameter", each]));
    expect(body.warnings).toMatchObject(
      parameters.map((name) => ({ messageSentence: { code: "warning.unknown-parameter", params: { name } } })),
    );
    const { warnings: _, ...rest } = body;
    expect(rest).toEqual((await api.call("GET", path.replace(/\?.*/, ""))).body);
    expectError(await api.call("GET", `${path}&strict=true`), 400, "invalid-value", parameters[0] ?? "");
  });

  it.each([
    ["/distribution-lists?limit=1&sort=-name&q=Staff&includeTotal=false"],
    ["/distribution-lists?name=Staff&include-domain=true&domain="],
    ["/users?createdAt__gt=2020-01-01T00:00:00Z&types[]=regular&ids[]=0190a1b2-0000-7000-8000-000000000009"],
    ["/devices?includeBinaryUrls=true&defunct=false"],
    ["/session?strict=false"],
  ])("is nothing for GET %s", async (path) => {
    const { body } = await api.call("GET", path.replace("domain=", `domain=${domainId}`));
    expect(body).not.toHaveProperty("warnings");
    expect((await api.call("GET", `${path.replace("&domain=", "")}&strict=true`)).status).toBe(200);
  });

  it("is named for fields of a body, which are not stored", async () => {
    const made = await api.call("POST", "/distribution-lists", { json: { name: "A", colour: "red", "is-big": true } });
    expect(named(made.body)).toEqual([
      ["unknown-field", "colour"],
      ["unknown-field", "is-big"],
    ]);
    const at = `/distribution-lists/${made.body.id}`;
    const form = await api.call("PUT", `${at}?shade=2`, { form: [["colour", "blue"]] });
    expect(named(form.body)).toEqual([
      ["unknown-parameter", "shade"],
      ["unknown-field", "colour"],
    ]);
    expect((await api.call("GET", at)).body).not.toHaveProperty("colour");
  });

  it("is named within objects of a body", async () => {
    const mapping = { name: "Full name", surname: "Last", "list-names": "Clubs" };
    const { body } = await api.call("POST", "/load-definitions", { json: { name: "SIS", mapping } });
    expect(named(body)).toEqual([
      ["unknown-field", "mapping.surname"],
      ["unknown-field", "mapping.list-names"],
    ]);
    expect(body.mapping).toMatchObject({ name: "Full name" });
    const json = { name: "SIS 2", mapping };
    expectError(await api.call("POST", "/load-definitions?strict=true", { json }), 400, "invalid-value", "mapping");
  });

  it("is no member of a row that is sent back as it was read", async () => {
    const at = `/distribution-lists/${list}`;
    const row = (await api.call("GET", at)).body;
    const { status, body } = await api.call("PUT", at, { json: row });
    expect([status, named(body)]).toEqual([200, []]);
  });

  it("is refused before anything is written when the caller is strict", async () => {
    const json = { name: "Strict", colour: "red" };
    expectError(await api.call("POST", "/distribution-lists?strict=true", { json }), 400, "invalid-value", "colour");
    expect((await api.call("GET", "/distribution-lists?name=Strict")).body.total).toBe(0);
    expect((await api.call("POST", "/distribution-lists?strict=true", { json: { name: "Strict" } })).status).toBe(200);
  });

  it("is limited to 20 names", async () => {
    const query = Array.from({ length: 100 }, (_, at) => `p${at}=1`).join("&");
    expect((await api.call("GET", `/users?${query}`)).body.warnings).toHaveLength(20);
  });
});

describe("a filter that a list does not have", () => {
  it.each([
    ["/users?isLocked=true", "isLocked"],
    ["/devices?attributes=x", "attributes"],
    ["/notifications?readCount=3", "readCount"],
    ["/message-templates?metadata=x", "metadata"],
    ["/users?name__gt=A", "name__gt"],
  ])("is refused: %s", async (path, field) => {
    expectError(await api.call("GET", path), 400, "invalid-value", field);
  });
});

describe("lists that are computed as a whole", () => {
  it.each([
    ["/reports", 3],
    ["/session/domains", 2],
    ["/users/{user}/all-permissions", 2],
  ])("%s comes in pages", async (path, least) => {
    for (const name of ["North", "South", "West"]) await api.call("POST", "/domains", { json: { name } });
    const at = path.replace("{user}", api.adminId);
    const whole = (await api.call("GET", at)).body;
    expect(whole).toMatchObject({ total: whole.data.length, partial: false, previous: null, next: null });
    if (whole.total < least) return;
    const found: unknown[] = [];
    for (let start = ""; ; ) {
      const page = (await api.call("GET", `${at}?limit=1&start=${start}`)).body;
      expect(page).toMatchObject({ total: whole.total, partial: true });
      expect(page.data).toHaveLength(1);
      found.push(...page.data);
      if (page.next === null) break;
      start = page.next;
    }
    expect(found).toEqual(whole.data);
    const last = (await api.call("GET", `${at}?limit=1&start=end`)).body;
    expect(last).toMatchObject({ data: whole.data.slice(-1), next: null });
    const before = (await api.call("GET", `${at}?limit=1&start=${last.previous}`)).body;
    expect(before.data).toEqual(whole.data.slice(-2, -1));
    expectError(await api.call("GET", `${at}?limit=0`), 400, "invalid-value", "limit");
    expectError(await api.call("GET", `${at}?start=nowhere`), 400, "invalid-value", "start");
  });
});

describe("a filter by null", () => {
  it("finds rows without a reference, also beside ids", async () => {
    const sources = await api.call("POST", "/load-definitions", { json: { name: "SIS", type: "table" } });
    expect(sources.status).toBe(200);
    const person = { name: "Ann", email: "ann@example.com", type: "regular" };
    expect((await api.call("POST", "/users", { json: person })).status).toBe(200);
    const names = async (query: string): Promise<string[]> =>
      (await api.call("GET", `/users?${query}`)).body.data.map(({ name }: { name: string }) => name);
    expect(await names("includeLoadSourceIds=null")).toContain("Ann");
    expect(await names(`includeLoadSourceIds[]=null&includeLoadSourceIds[]=${sources.body.id}`)).toContain("Ann");
    expect(await names(`includeLoadSourceIds[]=${sources.body.id}`)).toEqual([]);
    expectError(
      await api.call("GET", "/users?includeLoadSourceIds=none"),
      400,
      "invalid-value",
      "includeLoadSourceIds",
    );
  });

  it("finds rows without any of many, and none by what every row has", async () => {
    const list = (await api.call("POST", "/distribution-lists", { json: { name: "Coaches" } })).body.id;
    const json = { name: "Both", subject: "S" };
    const withList = (await api.call("POST", "/message-templates", { json: { ...json, distributionListIds: [list] } }))
      .body.id;
    const without = (await api.call("POST", "/message-templates", { json: { ...json, name: "None" } })).body.id;
    const ids = async (query: string): Promise<string[]> =>
      (await api.call("GET", `/message-templates?${query}`)).body.data.map(({ id }: { id: string }) => id);
    expect(await ids("distributionListIds=null")).toEqual([without]);
    expect(await ids("distributionListIds=")).toEqual([without]);
    expect((await ids(`distributionListIds[]=null&distributionListIds[]=${list}`)).sort()).toEqual(
      [withList, without].sort(),
    );
    expect(await ids("createdAt=")).toEqual([]);
  });
});
