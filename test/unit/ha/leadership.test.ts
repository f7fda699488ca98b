import { expect, it } from "vitest";
import { createLeadership } from "../../../src/ha/leadership.ts";
import type { PostgresConnection } from "../../../src/ha/postgres-connection.ts";
import { UpstreamError } from "../../../src/lib/errors.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

/** A database that says whose turn it is, or nothing at all. */
function database() {
  const state = { term: 0, isSilent: false, locks: 0, number: 1 };
  const connection: PostgresConnection = {
    get generation() {
      return state.number;
    },
    waitUntilReady: async () => undefined,
    close: async () => undefined,
    async query<R>(text: string) {
      if (state.isSilent) throw new UpstreamError("starting", "Nobody answers.");
      if (text.startsWith("UPDATE")) state.term += 1;
      if (text.includes("lock")) state.locks += 1;
      return [{ got: true, term: String(state.term), holder: "one", history: "first" } as unknown as R];
    },
  };
  return { state, connection };
}

async function actingNode() {
  const { state, connection } = database();
  const clock = createFakeClock();
  const acting = createLeadership({ connection, organisation: 1, node: "one", clock });
  await acting.acquire(new AbortController().signal);
  await clock.advance(0);
  return { state, clock, acting };
}

it("reports an unreachable database after 10 s, and recovers", async () => {
  const { state, clock, acting } = await actingNode();
  await clock.advance(60_000);
  expect([acting.isHeard(), state.locks]).toEqual([true, 1]);
  state.isSilent = true;
  await clock.advance(9_000);
  expect(acting.isHeard()).toBe(true);
  await clock.advance(1_500);
  expect(acting.isHeard()).toBe(false);
  state.isSilent = false;
  state.number = 2;
  await clock.advance(1_000);
  expect([acting.isHeard(), acting.term, state.locks]).toEqual([true, 1, 2]);
  acting.release();
});

it("detects another leader by itself", async () => {
  const { state, clock, acting } = await actingNode();
  state.term += 1;
  await clock.advance(1_000);
  await acting.lost();
  expect(acting.term).toBeNull();
});
