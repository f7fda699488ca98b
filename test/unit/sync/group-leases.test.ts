import { beforeEach, describe, expect, it } from "vitest";
import { renewLeases } from "../../../src/sync/hub/group-leases.ts";
import { setSiteScopes } from "../../../src/sync/hub/handshake.ts";
import { initializeFeed, startEpoch } from "../../../src/sync/hub/publish.ts";
import { createMemoryStore, type MemoryStore } from "../../sim/memory-store.ts";
import { CATALOGUE } from "../../sim/resources.ts";

const START = 1_768_000_000_000;

describe("leases of groups", () => {
  let cloud: MemoryStore;
  beforeEach(() => {
    cloud = createMemoryStore(CATALOGUE);
    cloud.perform(() => initializeFeed("first"));
    for (const endpoint of ["a", "b"]) cloud.perform(() => setSiteScopes(endpoint, null));
  });
  const ask = (endpoint: string, seconds: number) =>
    cloud.perform(() => renewLeases({ endpoint, sess: 1 }, ["group"], START + seconds * 1000))?.leases[0];

  it("are kept while they are renewed, and given to another after the holder thinks they are over", () => {
    const first = ask("a", 0);
    expect(first).toMatchObject({ holder: "a", ttlMs: 15_000 });
    expect(ask("a", 10)).toEqual(first);
    expect(ask("b", 25)).toEqual({ ...first, ttlMs: 0 });
    const next = ask("b", 27);
    expect(next).toMatchObject({ holder: "b", ttlMs: 15_000 });
    expect(next?.term).toBeGreaterThan(first?.term as number);
  });

  it("are given to nobody after a restore until those that the copy does not know of are over", () => {
    ask("a", 0);
    const copy = cloud.copy();
    const lost = ask("b", 20);
    cloud = copy;
    cloud.perform(() => startEpoch("second", START + 25_000));
    expect(ask("a", 26)).toBeUndefined();
    expect(ask("b", 27)).toBeUndefined();
    const next = ask("a", 42);
    expect(next).toMatchObject({ holder: "a", ttlMs: 15_000 });
    expect(next?.term).toBeGreaterThan(lost?.term as number);
  });

  it("are not renewed by a connection whose place another one took", () => {
    const first = ask("a", 0);
    cloud.perform(() => setSiteScopes("a", null));
    expect(cloud.perform(() => renewLeases({ endpoint: "a", sess: 1 }, ["group"], START + 10_000))).toBeNull();
    expect(
      cloud.perform(() => renewLeases({ endpoint: "b", sess: 1 }, ["group"], START + 17_000))?.leases[0]?.holder,
    ).toBe("b");
    expect(first?.holder).toBe("a");
  });
});
