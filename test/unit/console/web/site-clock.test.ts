import { describe, expect, it } from "vitest";
import { siteClockOf } from "../../../../src/console/web/api/site-clock.ts";
import { localTimeText } from "../../../../src/console/web/features/bells/calendar-dates.ts";

/** British Columbia after the last change of its clocks, which no browser of 2025 knows. */
const VANCOUVER = siteClockOf({
  ...{ timeZone: "America/Vancouver", synchronised: true, timeZoneVersion: "2026b", timeZoneSource: "machine" },
  offsets: [
    { from: "2026-01-01T00:00:00.000Z", minutes: -480 },
    { from: "2026-03-08T10:00:00.000Z", minutes: -420 },
  ],
});

describe("the clock of the site", () => {
  it("follows the offsets that the appliance gives, not the browser's zone data", () => {
    const localAt = (iso: string): string => new Date(VANCOUVER.localMsAt(Date.parse(iso))).toISOString().slice(0, 16);
    expect(localAt("2026-12-01T15:00:00Z")).toBe("2026-12-01T08:00");
    expect(localAt("2026-03-08T09:59:00Z")).toBe("2026-03-08T01:59");
    expect(localAt("2026-03-08T10:00:00Z")).toBe("2026-03-08T03:00");
    expect(localAt("2025-07-01T12:00:00Z")).toBe("2025-07-01T04:00");
    expect(VANCOUVER.dayAt(Date.parse("2026-12-02T06:59:00Z"))).toBe("2026-12-01");
  });

  it("is the browser's until the appliance is known", () => {
    const at = Date.parse("2026-07-01T12:00:00Z");
    expect(siteClockOf(null).localMsAt(at)).toBe(at - new Date(at).getTimezoneOffset() * 60_000);
  });

  it("writes local times as they are", () => {
    expect(localTimeText("2026-12-01T08:00:00-07:00", "en", "medium")).toMatch(/^Dec 1, 2026, 8:00\sAM$/);
  });
});
