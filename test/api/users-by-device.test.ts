import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";

let api: ApiFixture;
beforeAll(async () => {
  api = await openApi(makeTempDir());
});
afterAll(() => api.close());

it("finds users by the identifier of a device by its index, however many devices there are", async () => {
  const all = vi.spyOn(api.store, "all");
  expect((await api.call("GET", "/users?deviceIdentifier=%2B4930123")).status).toBe(200);
  const asked = all.mock.calls.find(([sql]) => sql.includes("t.device_identifier = ?"));
  all.mockRestore();
  const [sql = "", ...params] = asked ?? [];
  const plan = api.store.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...params);
  expect(plan.map(({ detail }) => detail).join()).toMatch(/SEARCH t USING INDEX \S+ \(device_identifier=\?\)/);
});
