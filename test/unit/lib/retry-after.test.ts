import { expect, it } from "vitest";
import { parseRetryAfterMs } from "../../../src/lib/retry-after.ts";

const NOW = Date.parse("2026-03-01T08:00:00Z");

it.each([
  ["seconds", "120", 120_000],
  ["no wait", "0", 0],
  ["spaces around it", " 5 ", 5_000],
  ["a date", "Sun, 01 Mar 2026 08:01:30 GMT", 90_000],
  ["a date that has passed", "Sun, 01 Mar 2026 07:00:00 GMT", 0],
  ["more than a day", "999999999", 86_400_000],
  ["a date after more than a day", "Sun, 01 Mar 2037 08:00:00 GMT", 86_400_000],
  ["words", "soon", null],
  ["nothing", "", null],
  ["a negative number of seconds", "-", null],
  ["no header", undefined, null],
])("reads %s", (_what, header, waitMs) => {
  expect(parseRetryAfterMs(header, NOW)).toBe(waitMs);
});
