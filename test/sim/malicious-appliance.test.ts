import { describe, expect, it } from "vitest";
import { APPLIANCE_BUGS, runMaliciousAppliance } from "./malicious-appliance.ts";

describe("an appliance that sends arbitrary rows", () => {
  it("gains nothing outside its domains, reads nothing of others, and gets no right anywhere", async () => {
    let [effective, read] = [0, 0];
    for (let seed = 1; seed <= 6; seed += 1) {
      const { gains, ...counts } = await runMaliciousAppliance(seed, 200);
      expect({ seed, gains }).toEqual({ seed, gains: [] });
      effective += counts.effective;
      read += counts.read;
    }
    expect(read).toBeGreaterThan(0);
    expect(effective).toBeGreaterThan(0);
  });

  it.each(APPLIANCE_BUGS)("gets caught when %s", async (bug) => {
    let gains: string[] = [];
    for (let seed = 1; seed <= 10 && gains.length === 0; seed += 1)
      gains = (await runMaliciousAppliance(seed, 200, bug)).gains;
    expect(gains).not.toEqual([]);
  });
});
