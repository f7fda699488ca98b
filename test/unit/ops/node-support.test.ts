import { describe, expect, it } from "vitest";
import { nodeFinding } from "../../../src/ops/diagnostics.ts";
import { isNodeUnsupported, nodeEndOfLife, nodeSupportReasons } from "../../../src/ops/node-support.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const at = (time: string): number => Date.parse(time);

describe("support of the Node runtime", () => {
  it("ends after the last day of the release schedule, in UTC", () => {
    expect(isNodeUnsupported("24.21.0", at("2028-04-30T23:59:59.999Z"))).toBe(false);
    expect(isNodeUnsupported("24.21.0", at("2028-05-01T00:00:00.000Z"))).toBe(true);
    expect(isNodeUnsupported("22.13.0", at("2027-05-01T00:00:00.000Z"))).toBe(true);
    expect(isNodeUnsupported("25.0.0", at("2026-06-02T00:00:00.000Z"))).toBe(true);
  });

  it("is not denied to versions that are newer than the table", () => {
    expect(nodeEndOfLife("240.1.0")).toBeNull();
    expect(nodeEndOfLife("")).toBeNull();
    expect(isNodeUnsupported("240.1.0", at("2060-01-01T00:00:00Z"))).toBe(false);
  });

  it("has a date for every version that runs the tests and those that packages carry", () => {
    expect(nodeEndOfLife(process.versions.node)).toMatch(/^20\d\d-\d\d-\d\d$/);
  });

  it("turns health yellow once it is over", () => {
    expect(nodeSupportReasons("22.13.0", at("2027-04-30T12:00:00Z"))).toEqual([]);
    const [reason, ...others] = nodeSupportReasons("22.13.0", at("2027-05-01T00:00:00Z"));
    expect(others).toEqual([]);
    expect(reason).toMatchObject({ level: "yellow", code: "node-unsupported" });
    expect(reason?.reason).toMatch(/^Node 22\.13\.0 has had no security fixes since 2027-04-30\. Upgrade/);
  });

  it("is named by doctor, with its end", () => {
    const clock = (time: string) => createFakeClock(at(time));
    expect(nodeFinding("24.21.0", clock("2026-11-29T00:00:00Z"))).toEqual({
      ...{ check: "Node", state: "good", next: null },
      found: "24.21.0, security fixes until 2028-04-30",
    });
    expect(nodeFinding("24.21.0", clock("2028-06-01T00:00:00Z"))).toMatchObject({
      state: "warning",
      found: "24.21.0 has had no security fixes since 2028-04-30",
    });
    expect(nodeFinding("20.19.0", clock("2026-01-01T00:00:00Z"))).toMatchObject({ state: "fault" });
    expect(nodeFinding("98.0.0", clock("2026-01-01T00:00:00Z"))).toMatchObject({ state: "good", found: "98.0.0" });
  });
});
