import { beforeAll, describe, expect, it } from "vitest";
import { collectionName, methodsOf } from "../../src/schema/catalogue.ts";
import type { Field, FileFieldData } from "../../src/schema/field.ts";
import type { AnyResource, Method, ResourcePath } from "../../src/schema/resource.ts";
import {
  fileFields,
  formPairs,
  REQUIRED_BY_HOOKS,
  sampleFile,
  UNKNOWN_ID,
  writableSampleFields,
  wrongValues,
} from "../support/sample-values.ts";
import type { ApiFixture } from "./api-fixture.ts";
import type { FormEntries, ReceivedResponse } from "./http-client.ts";
import { describeRules } from "./resource-rules.ts";
import { requestOptionsFor, type SampleCollection, type SampleRows } from "./sample-rows.ts";

/** What the generated tests of a resource need. */
export interface SuiteDeps {
  api(): ApiFixture;
  rows: SampleRows;
  /** `resource.field` of what an action sets itself, whatever the body says. */
  decided?: ReadonlySet<string>;
  /** Resources whose PUT answers the row that they belong to. */
  answersParent?: ReadonlySet<string>;
}

/** Members that differ from row to row. */
const OWN_MEMBERS = [
  "id",
  "createdAt",
  "updatedAt",
  "token",
  "clientId",
  "clientSecret",
  "secretCreatedAt",
  "url",
  "urlExpiresAt",
  "warnings",
];
const ALL: readonly Method[] = ["get", "post", "put", "delete"];

/** The tests that follow from a declaration alone: one block per path of the resource. */
export function describeResourceSuite(resource: AnyResource, needs: SuiteDeps): void {
  describe(resource.name, () => {
    for (const path of resource.paths) describe(path.at, () => describePath(resource, path, needs));
  });
}

function describePath(resource: AnyResource, path: ResourcePath, needs: SuiteDeps): void {
  const methods = methodsOf(path);
  it("serves its methods and no others", () => checkMethods(resource, path, needs));
  if (methods.includes("get")) it("is closed to strangers", () => checkClosed(resource, path, needs));
  if (methods.includes("get"))
    it("filters by each attribute, or refuses it", () => checkFilters(resource, path, needs));
  if (!methods.includes("post") || !methods.includes("get")) return;
  const needsFile = fileFields(resource).some(([, field]) => field.required);
  it("creates, shows, changes and deletes", () => checkCycle(resource, path, needs));
  if (!needsFile) it("takes JSON, form and multipart alike", () => checkMediaTypes(resource, path, needs));
  it("lists in pages", () => checkPages(resource, path, needs));
  it("shows what a get permission allows, and no more", () => checkPermissions(resource, path, needs));
  describeRules(resource, path, needs);
  it("refuses unknown parents", () => checkParents(resource, path, needs));
  for (const [name] of fileFields(resource)) it(`stores ${name}`, () => checkFile(resource, path, name, needs));
  describe("refuses and writes nothing", () => checkFields(resource, path, needs));
}

async function checkMethods(resource: AnyResource, path: ResourcePath, { api, rows }: SuiteDeps): Promise<void> {
  const { collection } = await rows.place(path, resource);
  for (const method of [...ALL, "patch"] as const) {
    if ((methodsOf(path) as readonly string[]).includes(method)) continue;
    const answer = await api().call(method.toUpperCase(), collection);
    // An action may serve what the declaration leaves out; then it judges path and body itself.
    if (method === "post" && (answer.status === 400 || answer.status === 404)) continue;
    expectError(answer, 405, "method-not-allowed");
    const allow = (answer.headers.get("allow") ?? "").toLowerCase().split(", ");
    expect(allow).toEqual(expect.arrayContaining([...methodsOf(path)]));
    expect(allow).not.toContain(method);
  }
}

async function checkClosed(resource: AnyResource, path: ResourcePath, { api, rows }: SuiteDeps): Promise<void> {
  const { collection } = await rows.place(path, resource);
  const stranger = await api().user("Stranger");
  expectError(await api().call("GET", collection, { token: null }), 401, "unauthorized");
  expectError(await api().call("GET", collection, { token: "carillon_wrong" }), 401, "unauthorized");
  const list = await api().call("GET", collection, { token: stranger.token });
  if (list.status === 200) expect(list.body.data.map(idOf)).toEqual([stranger.id]);
  else expectError(list, 403, "forbidden");
  expectError(await api().call("GET", `${collection}/${UNKNOWN_ID}`), 404, "not-found");
  if (methodsOf(path).includes("post")) {
    expectDenied(await api().call("POST", collection, { json: {}, token: stranger.token }));
  }
}

async function checkCycle(
  resource: AnyResource,
  path: ResourcePath,
  { api, rows, answersParent }: SuiteDeps,
): Promise<void> {
  const place = await rows.place(path, resource);
  const input = await rows.input(resource, place);
  const made = await api().call("POST", place.collection, requestOptionsFor(resource, input));
  expect(made.text).toContain('"id"');
  expect(made.status).toBe(200);
  expectShown(resource, input, made.body);
  const at = `${place.collection}/${made.body.id}`;
  const methods = methodsOf(path);
  expect(made.body.permissions).toEqual(
    ["get", "put", "delete"].filter((method) => methods.includes(method as Method)),
  );
  const got = await api().call("GET", at);
  expect(got.status).toBe(200);
  const once = {
    token: undefined,
    clientSecret: undefined,
    url: undefined,
    urlExpiresAt: undefined,
    warnings: undefined,
  };
  expect({ ...made.body, ...once }).toEqual({ ...got.body, ...once });
  if (methods.includes("put"))
    await checkChange(resource, at, got, answersParent?.has(resource.name) ? thenGet(api(), at) : api());
  if (methods.includes("delete")) {
    const gone = await api().call("DELETE", at);
    expect(gone.body).toEqual({
      status: 200,
      message: `deleted ${made.body.id}`,
      resources: [{ id: made.body.id }],
    });
    expectError(await api().call("GET", at), 404, "not-found");
    expectError(await api().call("DELETE", at), 404, "not-found");
  }
}

/** The row itself after a change whose answer is another one. */
function thenGet(api: ApiFixture, at: string): Pick<ApiFixture, "call"> {
  return {
    async call(method, path, sending) {
      const answer = await api.call(method, path, sending);
      return answer.status === 200 ? api.call("GET", at) : answer;
    },
  };
}

async function checkChange(
  resource: AnyResource,
  at: string,
  before: ReceivedResponse,
  api: Pick<ApiFixture, "call">,
): Promise<void> {
  const etag = before.headers.get("etag") as string;
  const same = await api.call("PUT", at, { json: { id: before.body.id, noSuchField: 1 } });
  const { warnings: _, ...stored } = same.body;
  expect(stored).toEqual(before.body);
  expectError(await api.call("PUT", at, { json: { id: UNKNOWN_ID } }), 400, "invalid-value", "id");
  const clearable = writableSampleFields(resource).filter(
    ([name, field]) =>
      !(field.required || REQUIRED_BY_HOOKS.has(`${resource.name}.${name}`)) &&
      !(field.createOnly || "default" in field || field.kind === "secret"),
  );
  const cleared = await api.call("PUT", at, { json: Object.fromEntries(clearable.map(([name]) => [name, null])) });
  expect(cleared.status).toBe(200);
  for (const [name, field] of clearable) expect(cleared.body[name] ?? null).toEqual(field.kind === "many" ? [] : null);
  if (clearable.length === 0) return;
  const late = await api.call("PUT", at, { json: {}, headers: { "if-match": etag } });
  expectError(late, 409, "conflict");
  const inTime = await api.call("PUT", at, {
    json: {},
    headers: { "if-match": cleared.headers.get("etag") as string },
  });
  expect(inTime.status).toBe(200);
  // The collection's PUT names the row in the body.
  const collection = at.slice(0, at.lastIndexOf("/"));
  expect((await api.call("PUT", collection, { json: { id: before.body.id } })).body).toEqual(inTime.body);
  expectError(await api.call("PUT", collection, { json: {} }), 400, "required", "id");
}

async function checkMediaTypes(resource: AnyResource, path: ResourcePath, { api, rows }: SuiteDeps): Promise<void> {
  const place = await rows.place(path, resource);
  const input = await rows.input(resource, place);
  const pairs = formPairs(resource, input);
  const kebab: FormEntries = pairs.map(([name, value]) => [
    name.replace(/[A-Z]/g, (big) => `-${big.toLowerCase()}`),
    value,
  ]);
  const answers: unknown[] = [];
  for (const sending of [{ json: input }, { form: pairs }, { form: kebab }, { multipart: pairs }]) {
    const made = await api().call("POST", place.collection, sending);
    expect(made.text).toContain('"id"');
    answers.push(withoutOwn(made));
    // Unique values are free again for the next.
    await api().store.remove(resource, made.body.id, api().system);
  }
  expect(answers[1]).toEqual(answers[0]);
  expect(answers[2]).toEqual(answers[0]);
  expect(answers[3]).toEqual(answers[0]);
}

async function checkPages(resource: AnyResource, path: ResourcePath, { api, rows }: SuiteDeps): Promise<void> {
  const place = await rows.place(path, resource);
  const before = (await api().call("GET", place.collection)).body.total as number;
  const made: string[] = [];
  for (let at = 0; at < 3; at++) made.push((await rows.post(resource, place)).body.id);
  const list = (query: string) => api().call("GET", `${place.collection}?sort=-createdAt&${query}`);

  const whole = (await list("limit=1000&no-such-parameter=1")).body;
  expect(Object.keys(whole)).toEqual(["total", "partial", "previous", "next", "data", "warnings"]);
  expect(whole.warnings).toMatchObject([{ code: "unknown-parameter", parameter: "noSuchParameter" }]);
  expect(whole).toMatchObject({ total: before + 3, partial: false, previous: null, next: null });
  const first = (await list("limit=2")).body;
  expect(first).toMatchObject({ total: before + 3, partial: true, previous: null });
  const second = (await list(`limit=2&start=${encodeURIComponent(first.next)}&include-total=false`)).body;
  expect(second).not.toHaveProperty("total");
  expect([...first.data, ...second.data].map(idOf)).toEqual(whole.data.slice(0, 4).map(idOf));
  const back = (await list(`limit=2&start=${encodeURIComponent(second.previous)}`)).body;
  expect(back.data.map(idOf)).toEqual(first.data.map(idOf));
  const end = (await list("limit=1&start=end")).body;
  expect(end.data.map(idOf)).toEqual(whole.data.slice(-1).map(idOf));

  const ids = made.slice(0, 2);
  expect((await list(`ids[]=${ids[0]}&ids[]=${ids[1]}`)).body.data.map(idOf).sort()).toEqual([...ids].sort());
  expect((await list("createdAt__lt=1990-01-01")).body.total).toBe(0);
  for (const wrong of [
    "limit=0",
    "limit=1001",
    "limit=x",
    "start=bm9uZQ==",
    "sort=noSuchField",
    "createdAt__gt=soon",
  ]) {
    expectError(await api().call("GET", `${place.collection}?${wrong}`), 400, "invalid-value");
  }
}

/** Values that no row has; kinds without one are refused as filters, whatever the value. */
const NO_ROW_HAS: Partial<Record<Field["kind"], string>> = {
  ...{ text: "zz-no-such-value", uuid: UNKNOWN_ID, ref: UNKNOWN_ID, many: UNKNOWN_ID },
  ...{ integer: "2147483646", number: "2147483646", timestamp: "1990-01-01T00:00:00.000Z", date: "1990-01-01" },
};

/** No attribute is ignored: a list filtered by it has matching rows only, or the filter is refused. */
async function checkFilters(resource: AnyResource, path: ResourcePath, { api, rows }: SuiteDeps): Promise<void> {
  const place = await rows.place(path, resource);
  const found: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(resource.fields)) {
    if (field.kind === "internal") continue;
    const values =
      field.kind === "boolean" ? ["true", "false"] : field.kind === "option" ? field.values.slice(0, 2) : [];
    for (const value of values.length > 0 ? values : [NO_ROW_HAS[field.kind] ?? "zz"]) {
      const query = `${name}=${encodeURIComponent(value)}&limit=1000`;
      const { status, body } = await api().call("GET", `${place.collection}?${query}`);
      if (status === 400) expect([name, body.errors[0].field]).toEqual([name, name]);
      else if (values.length === 0) found[query] = [status, body.warnings ?? [], body.data.length];
      else
        found[query] = [
          status,
          body.warnings ?? [],
          body.data.filter((row: Record<string, unknown>) => String(row[name]) !== value).length,
        ];
    }
  }
  expect(found).toEqual(Object.fromEntries(Object.keys(found).map((query) => [query, [200, [], 0]])));
}

async function checkPermissions(resource: AnyResource, path: ResourcePath, { api, rows }: SuiteDeps): Promise<void> {
  const place = await rows.place(path, resource);
  const { id } = (await rows.post(resource, place)).body;
  const at = `${place.collection}/${id}`;
  const spec = `/${path.at.replace(/\{\w+\}/g, "*")}/*`;
  const reader = await api().user("Reader", `get ${spec}`);
  const { token } = reader;
  const got = await api().call("GET", at, { token });
  expect(got.body.permissions).toEqual(["get"]);
  const listed = await api().call("GET", `${place.collection}?ids[]=${id}`, { token });
  expect(listed.body.data.map(idOf)).toContain(id);
  expect(listed.body.data[0].permissions).toEqual(["get"]);
  expectDenied(await api().call("POST", place.collection, { json: {}, token }));
  for (const method of ["put", "delete"] as const) {
    if (methodsOf(path).includes(method)) {
      expectError(await api().call(method.toUpperCase(), at, { json: {}, token }), 403, "forbidden");
    }
  }
  const stranger = await api().user("Stranger");
  expectError(await api().call("GET", at, { token: stranger.token }), 404, "not-found");
}

async function checkParents(resource: AnyResource, path: ResourcePath, { api, rows }: SuiteDeps): Promise<void> {
  const place = await rows.place(path, resource);
  const input = await rows.input(resource, place);
  for (const [name, id] of Object.entries(place.parents)) {
    const nowhere = place.collection.replace(id, UNKNOWN_ID);
    expectError(await api().call("GET", nowhere), 404, "not-found");
    expectError(await api().call("POST", nowhere, { json: { ...input, [name]: UNKNOWN_ID } }), 404, "not-found");
  }
}

async function checkFile(
  resource: AnyResource,
  path: ResourcePath,
  name: string,
  { api, rows }: SuiteDeps,
): Promise<void> {
  const place = await rows.place(path, resource);
  const field = fileFields(resource).find(([each]) => each === name)?.[1];
  if (!field) throw new Error(`${name} is no file`);
  const { bytes, type } = sampleFile(field);
  const pairs = formPairs(resource, await rows.input(resource, place));
  const upload = new File([new Uint8Array(bytes)], "sample.bin");
  const made = await api().call("POST", place.collection, { multipart: [[name, upload], ...pairs] });
  expect(made.body).toMatchObject({
    [name]: bytes.length,
    [`${name}Files`]: [{ fileName: "sample.bin", size: bytes.length, contentType: type }],
  });
  const at = `${place.collection}/${made.body.id}`;
  const bytesBack = await fetch(`${api().base}${at}/${name}`, { headers: { authorization: `Bearer ${api().token}` } });
  expect(bytesBack.headers.get("content-type")).toBe(type);
  expect(Buffer.from(await bytesBack.arrayBuffer())).toEqual(bytes);
  if (methodsOf(path).includes("put")) await checkFileChange(at, name, field, bytes.length, api());
}

async function checkFileChange(
  at: string,
  name: string,
  field: FileFieldData,
  size: number,
  api: ApiFixture,
): Promise<void> {
  // The size that was shown means no change.
  expect((await api.call("PUT", at, { json: { [name]: size } })).body[name]).toBe(size);
  const page = new File(["<html><script>alert(1)</script>"], "a.png", { type: "image/png" });
  if (!field.types.includes("*/*")) {
    expectError(await api.call("PUT", at, { multipart: [[name, page]] }), 415, "unsupported-media-type", name);
  }
  expectError(await api.call("PUT", at, { json: { [name]: "abc" } }), 400, "invalid-value", name);
  if (field.required) return expectError(await api.call("PUT", at, { json: { [name]: null } }), 400, "required", name);
  const cleared = await api.call("PUT", at, { json: { [name]: null } });
  expect(cleared.body).toMatchObject({ [name]: 0, [`${name}Files`]: [] });
  expectError(await api.call("GET", `${at}/${name}`), 404, "not-found");
}

function checkFields(resource: AnyResource, path: ResourcePath, { api, rows, decided }: SuiteDeps): void {
  let place: SampleCollection;
  let input: Record<string, unknown>;
  beforeAll(async () => {
    place = await rows.place(path, resource);
    input = await rows.input(resource, place);
  });
  const refused = async (body: Record<string, unknown>, type: string, field: string): Promise<void> => {
    const before = api().store.count(resource, {});
    const answer = await api().call("POST", place.collection, { json: body });
    expectError(answer, 400, answer.body.type, field);
    expect(answer.body.errors.find(({ field: at }: { field: string }) => at.startsWith(field)).type).toBe(type);
    expect(api().store.count(resource, {})).toBe(before);
  };
  const fromPath = new Set([...path.at.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as string));
  for (const [name, field] of writableSampleFields(resource)) {
    if (field.required && !fromPath.has(name)) {
      it(`for a missing ${name}`, async () => {
        const { [name]: _left, ...rest } = input;
        await refused(rest, "required", name);
        await refused({ ...input, [name]: null }, "required", name);
      });
    }
    const wrong = decided?.has(`${resource.name}.${name}`) ? [] : wrongValues(field);
    if (wrong.length === 0) continue;
    it(`for an invalid ${name}`, async () => {
      for (const { why, value } of wrong) {
        await refused({ ...input, [name]: value }, "invalid-value", name).catch((error: Error) => {
          throw Object.assign(error, { message: `${why}: ${error.message}` });
        });
      }
    });
  }
  it("for an unknown content type", async () => {
    const headers = { "content-type": "text/plain" };
    expectError(await api().call("POST", place.collection, { body: "a=b", headers }), 415, "unsupported-media-type");
    expectError(await api().call("POST", place.collection, { json: [input] }), 400, "invalid-value");
  });
}

/** Everything that was sent is shown, but for secrets. */
function expectShown(resource: AnyResource, input: Readonly<Record<string, unknown>>, shown: object): void {
  for (const [name, field] of Object.entries(resource.fields)) {
    if (field.kind === "secret" || field.kind === "internal") expect(shown).not.toHaveProperty(name);
    else if (name in input && field.kind !== "json") expect(shown).toMatchObject({ [name]: input[name] });
  }
  expect(collectionName(resource)).not.toBe("");
}

function withoutOwn({ body: { id }, text }: ReceivedResponse): Record<string, unknown> {
  const body = JSON.parse(text.replaceAll(id, UNKNOWN_ID)) as Record<string, unknown>;
  return Object.fromEntries(Object.entries(body).filter(([name]) => !OWN_MEMBERS.includes(name)));
}

function idOf(row: { id: string }): string {
  return row.id;
}

/** An action may find that the caller does not even see what the path names. */
function expectDenied(answer: ReceivedResponse): void {
  if (answer.status === 404) expectError(answer, 404, "not-found");
  else expectError(answer, 403, "forbidden");
}

/** The one form of every error. @source decisions.md 2 */
export function expectError(answer: ReceivedResponse, status: number, type: string, field?: string): void {
  expect(`${answer.status} ${answer.text}`).toMatch(new RegExp(`^${status} `));
  expect(answer.body).toMatchObject({ status, type, message: expect.any(String), errors: expect.any(Array) });
  expect(answer.body.requestId).toBe(answer.headers.get("x-request-id"));
  if (field === undefined) return;
  expect(answer.body.errors.map((fault: { field: string }) => fault.field.split(/[.[]/)[0])).toContain(field);
}
