import { describe, expect, it } from "vitest";
import { ORDINARY_DAY, ringsOfDay } from "../../../../src/console/web/features/bells/school-day.ts";

describe("an ordinary school day", () => {
  it("rings at the beginning and at the end of each lesson", () => {
    const day = { ...ORDINARY_DAY, lessons: 2 };
    expect(ringsOfDay(day)).toEqual(["08:00:00", "08:45:00", "08:55:00", "09:40:00"]);
    expect(ringsOfDay(ORDINARY_DAY)).toHaveLength(12);
  });

  it("rings once where a lesson follows the other without a break, and never on the next day", () => {
    const day = { ...ORDINARY_DAY, lessons: 2, breakMinutes: 0 };
    expect(ringsOfDay(day)).toEqual(["08:00:00", "08:45:00", "09:30:00"]);
    expect(ringsOfDay({ ...day, begins: "23:00:00" })).toEqual(["23:00:00", "23:45:00"]);
    expect(ringsOfDay({ ...day, begins: "" })).toEqual([]);
  });
});
