import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createCarillonClient } from "#client";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";

let daemon: TestDaemon;
beforeAll(async () => {
  daemon = await startTestDaemon();
});
afterAll(() => daemon.stop());

describe("the client that is made of the API's description", () => {
  it("makes, lists, changes and deletes rows, typed by the description", async () => {
    const client = createCarillonClient({ url: `${daemon.url}/`, token: daemon.first.token });
    const made = await client.POST("/v1/distribution-lists", { body: { name: "Staff" } });
    const id = made.data?.id ?? "";
    const params = { path: { distributionListId: id } };
    const changed = await client.PUT("/v1/distribution-lists/{distributionListId}", { params, body: { name: "All" } });
    expect(changed.data?.name).toBe("All");
    const page = await client.GET("/v1/distribution-lists", { params: { query: { name: "All", limit: 1 } } });
    expect(page.data?.data.map(({ id }) => id)).toEqual([id]);
    const gone = await client.DELETE("/v1/distribution-lists/{distributionListId}", { params });
    expect(gone.data?.message).toBe(`deleted ${id}`);
  });

  it("gives the API's errors", async () => {
    const client = createCarillonClient({ url: daemon.url });
    const { error, response } = await client.GET("/v1/users");
    expect([response.status, error?.type]).toEqual([401, "unauthorized"]);
  });
});
