import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import messageTemplates from "../../src/resources/messages/message-templates.ts";
import { SAMPLE_PNG } from "../support/sample-values.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import type { RequestOptions } from "./http-client.ts";
import { expectError } from "./resource-suite.ts";

const dataDir = makeTempDir();
let api: ApiFixture;
beforeAll(async () => {
  api = await openApi(dataDir);
});
afterAll(() => api.close());

let keys = 0;
const newKey = (): string => `key-${keys++}`;
const post = (path: string, key: string, sending: RequestOptions) =>
  api.call("POST", path, { ...sending, headers: { "idempotency-key": key } });
const rows = (table: string): number => api.store.one<{ n: number }>(`SELECT count(*) n FROM ${table}`)?.n ?? -1;

describe("a POST with an Idempotency-Key", () => {
  it("is executed once, and answered with the same response afterwards", async () => {
    const key = newKey();
    const first = await post("/distribution-lists", key, { json: { name: "Once" } });
    await api.call("PUT", `/distribution-lists/${first.body.id}`, { json: { name: "Renamed" } });
    const before = rows("distribution_lists");
    const again = await post("/distribution-lists", key, { json: { name: "Once" } });
    expect(again).toMatchObject({ status: 200, body: first.body });
    expect([first, again].map(({ headers }) => headers.get("idempotency-replayed"))).toEqual([null, "true"]);
    expect(again.headers.get("etag")).toBe(first.headers.get("etag"));
    expect(rows("distribution_lists")).toBe(before);
  });

  it("is equal as JSON and as a form, and different with another body or path", async () => {
    const key = newKey();
    const { id } = (await post("/message-templates", key, { json: { name: "N", subject: "S" } })).body;
    const form = [
      ["subject", "S"],
      ["name", "N"],
    ] as const;
    expect((await post("/message-templates", key, { form })).body.id).toBe(id);
    expectError(
      await post("/message-templates", key, { json: { name: "N", subject: "T" } }),
      409,
      "conflict",
      "Idempotency-Key",
    );
    expectError(await post("/distribution-lists", key, { json: { name: "N", subject: "S" } }), 409, "conflict");
  });

  it("sent many times at once makes one row", async () => {
    const key = newKey();
    const before = rows("distribution_lists");
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        post("/distribution-lists", key, { json: { name: at === 7 ? "Other" : "Many" } }),
      ),
    );
    expect(rows("distribution_lists")).toBe(before + 1);
    expect(new Set(all.filter(({ status }) => status === 200).map(({ text }) => text)).size).toBe(1);
    expect(all.filter(({ status }) => status === 409).length).toBeGreaterThan(0);
  });

  it("may be retried if it was rejected", async () => {
    const key = newKey();
    expectError(await post("/distribution-lists", key, { json: {} }), 400, "required");
    expect((await post("/distribution-lists", key, { json: { name: "Second try" } })).status).toBe(200);
  });

  it("belongs to its user", async () => {
    const key = newKey();
    const other = await api.user("Other", "post /distribution-lists");
    const mine = await post("/distribution-lists", key, { json: { name: "Mine" } });
    const theirs = await api.call("POST", "/distribution-lists", {
      json: { name: "Mine" },
      token: other.token,
      headers: { "idempotency-key": key },
    });
    expect(theirs.status).toBe(200);
    expect(theirs.body.id).not.toBe(mine.body.id);
  });

  it("returns one-time values again, and never stores them in clear", async () => {
    const key = newKey();
    const path = `/users/${api.adminId}/tokens`;
    const first = await post(path, key, { json: { name: "CI" } });
    const again = await post(path, key, { json: { name: "CI" } });
    expect(again.body).toEqual(first.body);
    expect(JSON.stringify(api.store.all("SELECT * FROM idempotency_keys"))).not.toContain(first.body.token);
  });

  it("holds for actions and files too", async () => {
    const { id } = (await post("/distribution-lists", newKey(), { json: { name: "To copy" } })).body;
    const key = newKey();
    const copy = await post(`/distribution-lists/${id}/clone`, key, { json: {} });
    expect((await post(`/distribution-lists/${id}/clone`, key, { json: {} })).body).toEqual(copy.body);
    const upload = newKey();
    const multipart = (name: string): RequestOptions => ({
      multipart: [
        ["name", "Picture"],
        ["subject", "S"],
        ["image", new File([SAMPLE_PNG], name)],
      ],
    });
    const made = await post("/message-templates", upload, multipart("a.png"));
    const again = await post("/message-templates", upload, multipart("again.png"));
    expect(again.body).toEqual(made.body);
    const image = await api.call("GET", `/message-templates/${made.body.id}/image`);
    expect(image.status).toBe(200);
  });

  it.each(["a b", "k".repeat(256), "\u00e9"])("%j is none", async (key) => {
    expectError(
      await post("/distribution-lists", key, { json: { name: "N" } }),
      400,
      "invalid-value",
      "idempotency-key",
    );
  });

  it("counts for nothing elsewhere", async () => {
    const headers = { "idempotency-key": "a b" };
    expect((await api.call("GET", "/distribution-lists", { headers })).status).toBe(200);
  });
});

describe("after a crash between the write and the answer", () => {
  afterEach(async () => {
    await api.store.write((tx) => void tx.run("UPDATE idempotency_keys SET response = response"));
  });

  it("returns the row that was created", async () => {
    const key = newKey();
    const json = { name: "Kept", subject: "S" };
    const first = await post("/message-templates", key, { json });
    await api.store.write((tx) => void tx.run("UPDATE idempotency_keys SET response = NULL WHERE key = ?", key));
    const again = await post("/message-templates", key, { json });
    expect(again).toMatchObject({ status: 200, body: first.body });
    await api.store.remove(messageTemplates, first.body.id, api.system);
    expectError(await post("/message-templates", key, { json }), 409, "conflict");
  });

  it("stores the key together with the row or not at all", async () => {
    const claim = { owner: api.adminId, key: newKey(), requestHash: "0" };
    const by = { ...api.system, idempotencyClaim: claim };
    const undone = api.store.write((tx) => {
      tx.create(messageTemplates, { name: "Undone", subject: "S" }, by);
      throw new Error("stop");
    });
    await expect(undone).rejects.toThrow("stop");
    expect(api.store.idempotency.find(claim)).toBeNull();
    const { id } = await api.store.create(messageTemplates, { name: "Done", subject: "S" }, by);
    expect(api.store.idempotency.find(claim)).toEqual({
      response: null,
      createdRow: { resource: "message-templates", id },
    });
  });

  it("forgets a key after a day", async () => {
    const key = newKey();
    const first = await post("/distribution-lists", key, { json: { name: "Old" } });
    const day = 24 * 3_600_000;
    await api.store.write((tx) => void tx.run("UPDATE idempotency_keys SET at = at - ? WHERE key = ?", day + 1, key));
    const other = await post("/distribution-lists", key, { json: { name: "New" } });
    expect(other.body.id).not.toBe(first.body.id);
    expect(api.store.all("SELECT key FROM idempotency_keys WHERE key = ?", key)).toHaveLength(1);
  });
});
