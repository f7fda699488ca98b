import { describe, expect, it } from "vitest";
import { floodDaemon } from "../faults/flood/flood.ts";

// Times are measured by `npm run faults -- flood`: this machine may have other work.
describe("while strangers flood the appliance", () => {
  it("emergencies reach every phone, and no request of a session is refused", { timeout: 120_000 }, async () => {
    const floods = ["search", "openapi", "connections-of-this-address", "log-in"];
    const figures = await floodDaemon({ emergencies: 1, floods, bug: null }, () => undefined);
    expect(figures.map(({ flood, sessionRefused }) => [flood, sessionRefused])).toEqual(
      floods.map((name) => [name, 0]),
    );
    for (const { pushP99Ms, answered } of figures) {
      expect(pushP99Ms).toBeLessThan(Number.POSITIVE_INFINITY);
      expect(Object.values(answered).reduce((sum, each) => sum + each, 0)).toBeGreaterThan(0);
    }
  });
});
