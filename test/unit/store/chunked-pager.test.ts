import { afterAll, beforeAll, describe, expect, it } from "vitest";
import auditEntries from "../../../src/resources/security/audit-entries.ts";
import type { PageQuery } from "../../../src/store/store.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { type AccessFixture, openAccess } from "../permissions/access-fixture.ts";

/** More than are sorted in one go. */
const MANY = 6_000;

let fixture: AccessFixture;
beforeAll(async () => {
  fixture = await openAccess(makeTempDir());
  const { store, system } = fixture;
  for (let from = 0; from < MANY; from += 500) {
    await store.write((tx) => {
      for (let at = from; at < from + 500; at++) {
        const name = at % 100 === 7 ? `Quentin ${at}` : `Person ${at}`;
        const actor = { kind: "user", userId: null, name, address: "10.0.0.1" } as const;
        tx.addAuditEvent({ op: "refused", resource: "users", rowId: null }, { ...system, actor });
      }
    });
    fixture.clock.advanceSync(1_000);
  }
});
afterAll(() => fixture.close());

const search = (text: string): PageQuery => ({ search: { text, field: null }, limit: 1_000 });

/** Names of all entries of a list, from page to page in one direction. */
async function walked(query: PageQuery, direction: "next" | "previous"): Promise<string[]> {
  const names: string[] = [];
  let start: string | null = direction === "next" ? "" : "end";
  while (start !== null) {
    const { rows, total, ...page } = await fixture.store.pageInChunks(auditEntries, { ...query, start });
    const found = rows.map(({ actorName }) => actorName ?? "");
    names.splice(direction === "next" ? names.length : 0, 0, ...found);
    expect(total).not.toBeNull();
    start = page[direction];
  }
  return names;
}

describe("search over a large append-only resource", () => {
  it("uses the full-text index of the audit", async () => {
    const { store } = fixture;
    const waiting = "SELECT count(*) AS n FROM search_pending WHERE type = 'audit_entries'";
    await expect.poll(() => store.one<{ n: number }>(waiting)?.n).toBeLessThan(1_000);
    const { rows, total, next } = await store.pageInChunks(auditEntries, search("quent"));
    expect([rows.length, total, next]).toEqual([60, 60, null]);
    expect(rows[0]?.actorName).toBe("Quentin 7");
  });

  it("finds each row once, in both directions and sort orders", async () => {
    const expected = Array.from({ length: MANY }, (_, at) => at)
      .filter((at) => at % 100 !== 7)
      .map((at) => `Person ${at}`);
    expect(await walked(search("person"), "next")).toEqual(expected);
    expect(await walked(search("person"), "previous")).toEqual(expected);
    const down = { ...search("person"), sort: "-createdAt" };
    expect(await walked(down, "next")).toEqual(expected.toReversed());
    expect(await walked(down, "previous")).toEqual(expected.toReversed());
  });

  it("returns the total and starts at any row", async () => {
    const page = await fixture.store.pageInChunks(auditEntries, { ...search("person"), skip: 2_500, limit: 2 });
    expect(page).toMatchObject({ total: 5_940, partial: true });
    expect(page.rows.map(({ actorName }) => actorName)).toEqual(["Person 2526", "Person 2527"]);
    const { rows } = await fixture.store.pageInChunks(auditEntries, {
      ...{ ...search("person"), limit: 2 },
      start: page.previous ?? "",
    });
    expect(rows.map(({ actorName }) => actorName)).toEqual(["Person 2524", "Person 2525"]);
  });

  it("applies filters and rejects sorting very many rows by other fields", async () => {
    const filters = [{ field: "op", op: "eq" as const, value: "create" }];
    expect(await fixture.store.pageInChunks(auditEntries, { ...search("person"), filters })).toMatchObject({
      total: 0,
    });
    const sorted = { ...search("person"), sort: "actorName" };
    await expect(fixture.store.pageInChunks(auditEntries, sorted)).rejects.toMatchObject({
      faults: [{ field: "sort" }],
    });
    const few = await fixture.store.pageInChunks(auditEntries, { ...search("quentin"), sort: "-actorName", limit: 1 });
    expect(few.rows[0]?.actorName).toBe("Quentin 907");
  });

  it("yields to other work between chunks", async () => {
    let turns = 0;
    let isOver = false;
    const turn = (): void => {
      turns++;
      if (!isOver) setImmediate(turn);
    };
    turn();
    await fixture.store.pageInChunks(auditEntries, search("person"));
    isOver = true;
    expect(turns).toBeGreaterThanOrEqual(MANY / 500);
  });
});
