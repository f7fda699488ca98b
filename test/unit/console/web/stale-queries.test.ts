import { describe, expect, it } from "vitest";
import { createStaleQueries } from "../../../../src/console/web/api/stale-queries.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

function scene() {
  const clock = createFakeClock();
  const told: string[] = [];
  const take = createStaleQueries(clock, (resource) => void told.push(resource));
  const change = (resource: string) => take([{ resource, id: "a", op: "update" }]);
  return { clock, told, change };
}

describe("stale queries", () => {
  it("are told at once, with those that show the same rows", () => {
    const { told, change } = scene();
    change("devices");
    expect(told).toEqual(["devices", "device-groups"]);
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
