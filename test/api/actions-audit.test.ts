import { afterAll, beforeAll, expect, it } from "vitest";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";

let api: ApiFixture;
beforeAll(async () => {
  api = await openApi(makeTempDir());
});
afterAll(() => api.close());

it("verifies the hash chain of the audit to its end, and continues from there", async () => {
  const first = await api.call("GET", "/audit/verification");
  expect(first.body).toMatchObject({ intact: true, broken: null, finished: true });
  const { number, hash } = first.body.last;
  expect([number, hash]).toEqual([first.body.entries, expect.stringMatching(/^[0-9a-f]{64}$/)]);
  await api.call("POST", "/distribution-lists", { json: { name: "Choir" } });
  const second = await api.call("GET", `/audit/verification?after=${number}:${hash}`);
  expect(second.body).toMatchObject({ intact: true, entries: number + 1 });
});

it("says where the chain breaks", async () => {
  const { number } = (await api.call("GET", "/audit/verification")).body.last;
  const wrong = `${number - 1}:${"0".repeat(64)}`;
  const { status, body } = await api.call("GET", `/audit/verification?after=${wrong}`);
  expect([status, body.intact]).toEqual([200, false]);
  expect(body.broken).toMatchObject({ number, reason: "This entry or the one before it was changed." });
});

it.each(["x", "1", "1:zz", `-1:${"0".repeat(64)}`])("refuses to go on from %s", async (after) => {
  const { status, body } = await api.call("GET", `/audit/verification?after=${after}`);
  expect([status, body.type]).toEqual([400, "invalid-value"]);
});

it("asks for the permission of its path", async () => {
  const nobody = await api.user("nobody");
  expect((await api.call("GET", "/audit/verification", { token: nobody.token })).status).toBe(403);
  const auditor = await api.user("auditor", "get /audit/*");
  expect((await api.call("GET", "/audit/verification", { token: auditor.token })).status).toBe(200);
});

it("lists the domains in which the caller may act, and the current one", async () => {
  const nobody = await api.user("somebody");
  const { status, body } = await api.call("GET", "/session/domains", { token: nobody.token });
  expect([status, body.actingDomainId]).toEqual([200, api.rootId]);
  expect(body.data).toEqual([{ id: api.rootId, name: "Root", namePath: "Root" }]);
});
