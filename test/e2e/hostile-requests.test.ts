import { expect, it } from "vitest";
import { fuzz } from "../faults/fuzz.ts";

it("answers 2000 generated requests and the hostile ones without a server error", {
  timeout: 240_000,
}, async () => {
  const { faults, alive, requests, statuses } = await fuzz(2_000, 20_260, () => undefined);
  expect({ faults, alive, requests }).toEqual({ faults: [], alive: true, requests: 2_000 });
  expect(statuses["0"] ?? 0).toBe(0);
  for (const status of ["200", "400", "404", "405", "409", "415"])
    expect(statuses[status] ?? 0, status).toBeGreaterThan(0);
});
