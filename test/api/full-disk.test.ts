import { afterAll, beforeAll, expect, it } from "vitest";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import { expectError } from "./resource-suite.ts";

let api: ApiFixture;
beforeAll(async () => {
  api = await openApi(makeTempDir());
});
afterAll(() => api.close());

/** Lets the database take no further page: SQLite answers then as it does on a full disk. */
const limitTo = (pages: number): unknown => api.store.one(`PRAGMA max_page_count = ${pages}`);
const create = (name: string) => api.call("POST", "/users", { json: { name, type: "anonymous" } });

it("refuses what can't be stored any more, stores none of it, reads on, and takes writes again once there is room", async () => {
  const made: string[] = [];
  limitTo(1);
  let refused = await create("Full 0");
  for (let number = 1; refused.status === 200 && number < 500; number++) {
    made.push(refused.body.id as string);
    refused = await create(`Full ${number} ${"x".repeat(100)}`);
  }
  expectError(refused, 507, "storage-full");
  expectError(await api.call("PUT", `/users/${api.adminId}`, { json: { name: "y".repeat(100) } }), 507, "storage-full");
  const whole = await api.call("GET", "/users?limit=1000");
  expect(whole).toMatchObject({ status: 200, body: { total: made.length + 1 } });
  limitTo(4_294_967_294);
  expect((await create("After")).status).toBe(200);
  for (const id of made) expect((await api.call("GET", `/users/${id}`)).status).toBe(200);
});
