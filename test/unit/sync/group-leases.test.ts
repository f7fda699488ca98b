import { beforeEach, describe, expect, it } from "vitest";
import { renewLeases } from "../../../src/sync/hub/group-leases.ts";
import { setSiteScopes } from "../../../src/sync/hub/handshake.ts";
import { initializeFeed, startEpoch } from "../../../src/sync/hub/publish.ts";
import { createMemoryStore, type MemoryStore } from "../../sim/memory-store.ts";
import { CATALOGUE } from "../../sim/resources.ts";

const START = 1_768_000_000_000;

describe("group leases", () => {
  let cloud: MemoryStore;
  beforeEach(() => {
    cloud = createMemoryStore(CATALOGUE);
    cloud.perform(() => initializeFeed("first"));
    for (const endpoint of ["a", "b"]) cloud.perform(() => setSiteScopes(endpoint, null));
  });
  const ask = (endpoint: string, seconds: number) =>
    cloud.perform(() => renewLeases({ endpoint, sess: 1 }, ["group"], START + seconds * 1000))?.leases[0];

  it("renews a lease, and grants it to another appliance after the holder considers it expired", () => {
    const first = ask("a", 0);
    expect(first).toMatchObject({ holder: "a", ttlMs: 15_000 });
    expect(ask("a", 10)).toEqual(first);
    expect(ask("b", 25)).toEqual({ ...first, ttlMs: 0 });
    const next = ask("b", 27);
    expect(next).toMatchObject({ holder: "b", ttlMs: 15_000 });
    expect(next?.term).toBeGreaterThan(first?.term as number);
  });

  it("grants none after a restore until all unknown leases have expired", () => {
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

  it("refuses to renew for a replaced connection", () => {
    const first = ask("a", 0);
    cloud.perform(() => setSiteScopes("a", null));
    expect(cloud.perform(() => renewLeases({ endpoint: "a", sess: 1 }, ["group"], START + 10_000))).toBeNull();
    expect(
      cloud.perform(() => renewLeases({ endpoint: "b", sess: 1 }, ["group"], START + 17_000))?.leases[0]?.holder,
    ).toBe("b");
    expect(first?.holder).toBe("a");
  });
});
