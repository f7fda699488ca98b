import { expect, it } from "vitest";
import { runResponseStorm } from "../faults/response-storm.ts";

it("counts every answer and escalates once when the daemon is killed around it", { timeout: 150_000 }, async () => {
  const plan = { recipients: 60, within: 1, escalatesAfter: 4, seed: 3 };
  const { broken, ...figures } = await runResponseStorm(plan, () => undefined);
  expect(broken.filter((words) => !words.startsWith("it took so long"))).toEqual([]);
  expect(figures).toMatchObject({ recipients: 60, answers: 63, escalations: 1 });
});
