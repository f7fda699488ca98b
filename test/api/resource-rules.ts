import { expect, it } from "vitest";
import { compileFilterRules, filterableFields } from "../../src/http/query/filter-rules.ts";
import { collectionName, methodsOf } from "../../src/schema/catalogue.ts";
import { isFullTextSearched } from "../../src/schema/field.ts";
import type { AnyResource, ResourcePath } from "../../src/schema/resource.ts";
import { UNKNOWN_ID } from "../support/sample-values.ts";
import type { ApiFixture } from "./api-fixture.ts";
import type { ReceivedResponse } from "./http-client.ts";
import { requestOptionsFor, type SampleCollection, type SampleRows } from "./sample-rows.ts";

/** What the rules are tried on. */
export interface RuleTestDeps {
  api(): ApiFixture;
  rows: SampleRows;
}

/** The common rules of lists and HTTP that follow from a declaration alone, for a path that is posted to and listed. */
export function describeRules(resource: AnyResource, path: ResourcePath, needs: RuleTestDeps): void {
  it("is searched by its texts and attributes", () => checkSearch(resource, path, needs));
  it("is filtered by every attribute", () => checkFilters(resource, path, needs));
  it("is sorted both ways by every attribute", () => checkSorts(resource, path, needs));
  it("is carried out once for a key", () => checkOnce(resource, path, needs));
  it("is not sent again to whoever has it", () => checkUnchanged(resource, path, needs));
  if (resource.limit) it("keeps its limit when many are made at once", () => checkLimit(resource, path, needs));
}

async function checkSearch(resource: AnyResource, path: ResourcePath, { api, rows }: RuleTestDeps): Promise<void> {
  const place = await rows.place(path, resource);
  const { body } = await rows.post(resource, place);
  const found = (q: string) => idsOf(api(), place, `q=${encodeURIComponent(q)}`);
  for (const [name, field] of Object.entries(resource.fields)) {
    const value = body[name];
    if (field.kind !== "text" || typeof value !== "string") continue;
    expect(await found(`${name}:${value}`), name).toContain(body.id);
    if (!isFullTextSearched(field)) continue;
    expect(await found(value), name).toContain(body.id);
    expect(await found(value.toUpperCase().slice(0, -1)), name).toContain(body.id);
    expect(await found(JSON.stringify({ and: [`${name}:${value}`, value] })), name).toContain(body.id);
    expect(await found(`${name}:nothingofthekind`), name).toEqual([]);
  }
  expect(await found("nothing of the kind")).toEqual([]);
  for (const nasty of [
    '"',
    "*",
    "NEAR(a b)",
    "-a",
    "name:",
    "10:30",
    "a OR b",
    "^",
    "'; --",
    "{",
    '{"and":[]}',
    "x".repeat(2_000),
  ]) {
    const { status, body: answer } = await api().call("GET", `${place.collection}?q=${encodeURIComponent(nasty)}`);
    if (status !== 200) expect(answer, nasty).toMatchObject({ status: 400, errors: [{ field: "q" }] });
  }
}

async function checkFilters(resource: AnyResource, path: ResourcePath, { api, rows }: RuleTestDeps): Promise<void> {
  const place = await rows.place(path, resource);
  const { body } = await rows.post(resource, place);
  for (const [parameter, { field, op }] of compileFilterRules(resource)) {
    const value = askedFor(body[field]);
    if (value === null && op !== "set") continue;
    const asked = op === "set" ? String(isPresent(body[field])) : (value as string);
    const found = await idsOf(api(), place, `${parameter}=${encodeURIComponent(asked)}`);
    if (op === "gt" || op === "lt") expect(found, parameter).not.toContain(body.id);
    else expect(found, parameter).toContain(body.id);
    if (op !== "set" && op !== "eq") continue;
    const other = op === "set" ? String(!isPresent(body[field])) : null;
    if (other) expect(await idsOf(api(), place, `${parameter}=${other}`), parameter).not.toContain(body.id);
  }
  expect(await idsOf(api(), place, `ids[]=${body.id}&ids[]=${UNKNOWN_ID}`)).toEqual([body.id]);
}

async function checkSorts(resource: AnyResource, path: ResourcePath, { api, rows }: RuleTestDeps): Promise<void> {
  const place = await rows.place(path, resource);
  for (let at = 0; at < 3; at++) await rows.post(resource, place);
  for (const field of Object.keys(filterableFields(resource))) {
    const up = await api().call("GET", `${place.collection}?limit=1000&sort=${field}`);
    if (up.status !== 200) {
      expect(up.body, field).toMatchObject({ status: 400, errors: [{ field: "sort" }] });
      continue;
    }
    const down = await idsOf(api(), place, `sort=-${field}`);
    expect(down, field).toEqual(up.body.data.map(({ id }: { id: string }) => id).reverse());
    const kebab = field.replace(/[A-Z]/g, (big) => `-${big.toLowerCase()}`);
    expect(await idsOf(api(), place, `sort=${kebab}`), kebab).toEqual([...down].reverse());
  }
}

async function checkOnce(resource: AnyResource, path: ResourcePath, { api, rows }: RuleTestDeps): Promise<void> {
  const place = await rows.place(path, resource);
  const sending = requestOptionsFor(resource, await rows.input(resource, place));
  const headers = { "idempotency-key": `${resource.name} ${place.collection}`.replace(/[^\x21-\x7e]/g, "/") };
  const post = (): Promise<ReceivedResponse> => api().call("POST", place.collection, { ...sending, headers });
  const [first, second] = await Promise.all([post(), post()]);
  const third = await post();
  expect(first.text).toContain('"id"');
  expect([second.text, third.text]).toEqual([first.text, first.text]);
  expect(third.headers.get("idempotency-replayed")).toBe("true");
  const other = await api().call("POST", place.collection, { json: { name: "another" }, headers });
  expect(other.body).toMatchObject({ status: 409, type: "conflict" });
}

async function checkUnchanged(resource: AnyResource, path: ResourcePath, { api, rows }: RuleTestDeps): Promise<void> {
  const place = await rows.place(path, resource);
  const { id } = (await rows.post(resource, place)).body;
  for (const at of [`${place.collection}/${id}`, place.collection]) {
    const got = await api().call("GET", at);
    const headers = { "if-none-match": got.headers.get("etag") as string };
    const again = await api().call("GET", at, { headers });
    expect([again.status, again.text]).toEqual([304, ""]);
    const head = await api().call("HEAD", at);
    expect([head.status, head.text, head.headers.get("etag")]).toEqual([200, "", got.headers.get("etag")]);
    const options = await api().call("OPTIONS", at, { token: null });
    expect([options.status, options.text]).toEqual([204, ""]);
    expect((options.headers.get("allow") ?? "").toLowerCase().split(", ")).toEqual(
      expect.arrayContaining(["get", "head", "options"]),
    );
  }
  if (!methodsOf(path).includes("delete")) return;
  const late = await api().call("DELETE", `${place.collection}/${id}`, { headers: { "if-match": '"1-1"' } });
  expect(late.body).toMatchObject({ status: 409, type: "conflict" });
}

const AT_ONCE = 50;

async function checkLimit(resource: AnyResource, path: ResourcePath, { api, rows }: RuleTestDeps): Promise<void> {
  const place = await rows.place(path, resource);
  const limit = resource.limit as { most: number; per?: string };
  const { most } = limit;
  const inputs: Record<string, unknown>[] = [];
  for (let at = 0; at < AT_ONCE; at++) inputs.push(await rows.input(resource, place));
  const parent = limit.per === undefined ? {} : { [limit.per]: inputs[0]?.[limit.per] ?? null };
  // Inputs that differ in what is counted by could not reach one limit.
  for (const input of inputs) Object.assign(input, parent);
  const there = api().store.count(resource, parent as never);
  limit.most = there + 1;
  try {
    const all = await Promise.all(
      inputs.map((input) => api().call("POST", place.collection, requestOptionsFor(resource, input))),
    );
    const made = all.filter(({ status }) => status === 200);
    expect(made).toHaveLength(1);
    expect(api().store.count(resource, parent as never)).toBe(there + 1);
    const message = `Limit of ${limit.most} ${collectionName(resource)} reached.`;
    for (const refused of all.filter(({ status }) => status !== 200)) {
      expect(refused.body).toMatchObject({ status: 400, type: "limit-exceeded", message });
    }
  } finally {
    limit.most = most;
  }
}

async function idsOf(api: ApiFixture, { collection }: SampleCollection, query: string): Promise<string[]> {
  // A list that leaves some rows out unless they are asked for must not do so here.
  const { status, body, text } = await api.call("GET", `${collection}?limit=1000&includeDefunct=true&${query}`);
  expect(`${status} ${query} ${status === 200 ? "" : text}`).toBe(`200 ${query} `);
  return body.data.map(({ id }: { id: string }) => id);
}

/** A shown value as a filter takes it; null for what can't be asked for. */
function askedFor(shown: unknown): string | null {
  const value = Array.isArray(shown) ? shown[0] : shown;
  return ["string", "number", "boolean"].includes(typeof value) && value !== "" ? String(value) : null;
}

/** An absent file is shown as 0. */
function isPresent(shown: unknown): boolean {
  return shown !== null && shown !== undefined && shown !== 0;
}
