import { describe, expect, it } from "vitest";
import { createStaleQueries } from "../../../../src/console/web/api/stale-queries.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

function scene() {
  const clock = createFakeClock();
  const told: string[] = [];
  const byResource = new Map<string, string[]>();
  const take = createStaleQueries(clock, (resource, changes) => {
    told.push(resource);
    byResource.set(resource, [...(byResource.get(resource) ?? []), ...changes.map(({ id }) => id)]);
  });
  const change = (resource: string, id = "a") => take([{ resource, id, op: "update" }]);
  return { clock, told, byResource, change };
}

describe("stale queries", () => {
  it("are told at once, with those that show the same rows", () => {
    const { told, change } = scene();
    change("devices");
    expect(told).toEqual(["devices", "device-groups"]);
  });

  it("are told by which changes, also those of the pause; an id that means another row is none", () => {
    const { clock, byResource, change } = scene();
    for (const id of ["n1", "n2", "n3"]) change("deliveries", id);
    clock.tick(1_000);
    expect(byResource.get("deliveries")).toEqual(["n1", "n2", "n3"]);
    expect(byResource.get("notifications")).toEqual(["n1", "n2", "n3"]);
    expect(byResource.get("devices")).toEqual(["*", "*", "*"]);
  });

  it("are told once a second in a storm, and the last change is not left out", () => {
    const { clock, told, change } = scene();
    for (let i = 0; i < 50; i++) {
      change("users");
      clock.tick(100);
    }
    clock.tick(1_000);
    expect(told).toHaveLength(6);
    clock.tick(10_000);
    expect(told).toHaveLength(6);
    expect(clock.pending()).toBe(0);
  });
});
