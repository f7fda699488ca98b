import { afterAll, beforeAll, expect, it } from "vitest";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";

const LISTS = 1_000;
/** Rows that a behaviour is asked to present at once. */
const asked: number[] = [];
let api: ApiFixture;

beforeAll(async () => {
  const present = (rows: readonly unknown[]) => {
    asked.push(rows.length);
    return rows.map((_row, at) => ({ syncId: String(at) }));
  };
  api = await openApi(makeTempDir(), { behaviours: { "distribution-lists": { present } } });
  await api.store.write((tx) => {
    tx.run(
      `WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < ?)
       INSERT INTO distribution_lists (id, created_at, updated_at, domain_pk, name, is_shared, is_subscribable)
       SELECT uuid7(), x, x, (SELECT pk FROM domains), x, 0, 0 FROM n`,
      LISTS,
    );
  });
});
afterAll(() => api.close());

it("serializes a page of 1000 rows in chunks and lets other requests run between them", async () => {
  let turns = 0;
  let open = true;
  const count = (): void => {
    turns++;
    if (open) setImmediate(count);
  };
  const answer = api.call("GET", "/distribution-lists?limit=1000");
  setImmediate(count);
  const { data } = (await answer).body as { data: { name: string; syncId: string }[] };
  open = false;
  expect(data.map(({ name }) => name)).toEqual(Array.from({ length: LISTS }, (_, at) => String(at + 1)));
  expect(data.map(({ syncId }) => syncId)).toEqual(Array.from({ length: LISTS }, (_, at) => String(at % 100)));
  expect(asked).toEqual(Array.from({ length: 10 }, () => 100));
  expect(turns).toBeGreaterThan(9);
});
