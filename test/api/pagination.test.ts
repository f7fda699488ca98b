import { afterAll, beforeAll, describe, expect, it } from "vitest";
import users from "../../src/resources/people/users.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";

const STANDING = 10_000;
const CHANGES = 1_000;
const PER_PAGE = 250;
const BATCH = 100;

let api: ApiFixture;
beforeAll(async () => {
  api = await openApi(makeTempDir());
  for (let from = 0; from < STANDING; from += BATCH) {
    await api.store.write((tx) => {
      for (let at = from; at < from + BATCH; at++) {
        const input = { name: `Standing ${(at * 7_919) % 3_001}`, idleTimeout: (at % 5) + 5 };
        // Moments of their own would make the order by id alone decide nothing.
        tx.create(users, input, api.system, { createdAt: Math.floor(at / 7) });
      }
    });
  }
}, 120_000);
afterAll(() => api.close());

const standing = (): string[] =>
  api.store.all<{ id: string }>("SELECT id FROM users WHERE name LIKE 'Standing%'").map(({ id }) => id);

/** Walks the whole list while rows are inserted and deleted between its pages; ids in the order they were shown. */
async function walk(query: string, backwards: boolean): Promise<string[]> {
  const shown: string[] = [];
  const guests: string[] = [];
  const perPage = Math.ceil((CHANGES * PER_PAGE) / STANDING);
  let start: string | null = backwards ? "end" : "";
  while (start !== null) {
    const answer = await api.call(
      "GET",
      `/users?limit=${PER_PAGE}&include-total=false&${query}&start=${encodeURIComponent(start)}`,
    );
    expect(answer.status).toBe(200);
    const page = answer.body.data.map(({ id }: { id: string }) => id) as string[];
    shown.push(...(backwards ? page.reverse() : page));
    start = backwards ? answer.body.previous : answer.body.next;
    await change(perPage, guests, page);
  }
  await Promise.all(guests.map((id) => api.store.remove(users, id, api.system)));
  return shown;
}

/** New rows everywhere in the order; half of the earlier new ones go, those that end the page just shown among them. */
async function change(count: number, guests: string[], page: readonly string[]): Promise<void> {
  const ends = [page[0], page.at(-1)].filter((id): id is string => id !== undefined && guests.includes(id));
  const leaving = new Set([...ends, ...guests.splice(0, Math.floor(guests.length / 2))]);
  for (const id of ends) if (guests.includes(id)) guests.splice(guests.indexOf(id), 1);
  const made = await Promise.all(
    Array.from({ length: count }, (_, at) =>
      api.store.create(users, { name: `Standing-in ${(at * 131) % 3_001}`, idleTimeout: 5 + (at % 5) }, api.system, {
        createdAt: Math.floor((at * STANDING) / count / 7),
      }),
    ),
  );
  guests.push(...made.map(({ id }) => id));
  await Promise.all([...leaving].map((id) => api.store.remove(users, id, api.system)));
}

describe(`a walk over ${STANDING} users while ${CHANGES} are inserted and deleted`, () => {
  it.each([
    ["sort=createdAt", false],
    ["sort=-createdAt", true],
    ["sort=name", true],
    ["sort=-name", false],
    ["sort=idleTimeout", false],
    ["q=standing", true],
  ])(
    "by %s, backwards %s, shows none twice and misses none that stood",
    { timeout: 180_000 },
    async (query, backwards) => {
      const stood = standing();
      const shown = await walk(query, backwards);
      expect(new Set(shown).size).toBe(shown.length);
      const seen = new Set(shown);
      expect(stood.filter((id) => !seen.has(id))).toEqual([]);
    },
  );
});
