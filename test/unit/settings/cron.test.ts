import { expect, it } from "vitest";
import { normalizeCron } from "../../../src/settings/cron.ts";

it.each([
  ["30 2 * * *", "30 2 * * *"],
  ["*/5 30 2 * * MON-FRI", "*/5 30 2 * * MON-FRI"],
  ["0 30 2 ? * MON-FRI", "0 30 2 * * MON-FRI"],
  ["0 0 2 * * ?", "0 0 2 * * *"],
  ["0 0 2 ? * 2-6", "0 0 2 * * 1-5"],
  ["0 0 2 ? * 1,7", "0 0 2 * * 0,6"],
  ["0 0 2 ? * */2", "0 0 2 * * */2"],
  ["0 0 2 ? * 0", null],
  ["0 0 2 ? * 8", null],
  ["0 0 2 LW * ?", "0 0 2 LW * *"],
  ["0 0 2 ? * 2#1", "0 0 2 * * 1#1"],
  ["0 0 2 * * ? 2027", null],
  ["61 2 * * *", null],
  ["? ?", null],
  ["at two", null],
  ["", null],
])("reads %s as %s", (given, usual) => {
  expect(normalizeCron(given)).toBe(usual);
});
