import { describe, expect, it } from "vitest";
import { createStaleQueries } from "../../../../src/console/web/api/stale-queries.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

function scene() {
  const clock = createFakeClock();
  const told: string[] = [];
  const byResource = new Map<string, string[]>();
  let reading: Promise<unknown> = Promise.resolve();
  const take = createStaleQueries(clock, (resource, changes) => {
    told.push(resource);
    byResource.set(resource, [...(byResource.get(resource) ?? []), ...changes.map(({ id }) => id)]);
    return reading;
  });
  const change = (resource: string, id = "a") => take([{ resource, id, op: "update" }]);
  const tick = async (ms: number): Promise<void> => {
    await reading;
    clock.advanceSync(ms);
  };
  /** From now on readings take until what it gives is called. */
  const hold = (): (() => void) => {
    let end = () => {};
    reading = new Promise<void>((resolve) => {
      end = resolve;
    });
    return end;
  };
  return { clock, told, byResource, change, tick, hold };
}

describe("stale queries", () => {
  it("refetch at once, with queries of the same rows", () => {
    const { told, change } = scene();
    change("devices");
    expect(told).toEqual(["devices", "device-groups"]);
  });

  it("receive the changes, also those of the pause; another row's id does not match", async () => {
    const { tick, byResource, change } = scene();
    for (const id of ["n1", "n2", "n3"]) change("deliveries", id);
    await tick(1_000);
    expect(byResource.get("deliveries")).toEqual(["n1", "n2", "n3"]);
    expect(byResource.get("notifications")).toEqual(["n1", "n2", "n3"]);
    expect(byResource.get("devices")).toEqual(["*", "*", "*"]);
  });

  it("refetch once a second in a storm, including the last change", async () => {
    const { clock, told, change, tick } = scene();
    for (let i = 0; i < 50; i++) {
      change("users");
      await tick(100);
    }
    await tick(1_000);
    expect(told).toHaveLength(6);
    await tick(10_000);
    expect(told).toHaveLength(6);
    expect(clock.pendingTimers()).toBe(0);
  });

  it("wait in a storm for a reading that takes longer than a second, and for one without an end ten seconds", async () => {
    const { clock, told, change, tick, hold } = scene();
    const end = hold();
    for (let i = 0; i < 50; i++) {
      change("users");
      clock.advanceSync(100);
    }
    expect(told).toHaveLength(1);
    end();
    await tick(1_000);
    expect(told).toHaveLength(2);
    await tick(1_000);
    hold();
    change("users");
    change("users");
    clock.advanceSync(9_999);
    expect(told).toHaveLength(3);
    clock.advanceSync(1);
    expect(told).toHaveLength(4);
  });
});
