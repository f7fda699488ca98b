import { expect, it } from "vitest";
import { attackDaemon } from "../faults/attack/attack.ts";

const SAMPLE = [
  "(one machine)",
  ...["(CSRF)", "(CORS)", "(SSRF)", "(DNS rebinding)", "(request smuggling)", "kept secret", "uploads"],
  ...["secret key, the settings", "(plugin network)", "speaker agent", "authentication URL"],
];

it("gains nothing from a stolen appliance, websites, uploads, moved secrets, strangers beside speaker agents and requests that lead inside", async () => {
  const results = await attackDaemon(SAMPLE, () => undefined);
  expect(results.length).toBe(SAMPLE.length + 2);
  expect(results.filter(({ gains }) => gains.length > 0)).toEqual([]);
});
