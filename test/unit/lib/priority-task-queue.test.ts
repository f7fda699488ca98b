import { expect, it } from "vitest";
import { createPriorityTaskQueue } from "../../../src/lib/priority-task-queue.ts";

it("runs urgent tasks between the steps of a long task, and continues that before anything else", async () => {
  const done: string[] = [];
  const faults: unknown[] = [];
  const turns = createPriorityTaskQueue((error) => faults.push(error));
  const over = new Promise<void>((resolve) => {
    turns.add(async () => {
      done.push("first step");
      turns.add(async () => void done.push("page"));
      turns.add(async () => void done.push("command"), true);
      turns.add(() => Promise.reject(new Error("refused")), true);
      await turns.runUrgent();
      done.push("last step");
    });
    turns.add(async () => resolve());
  });
  await over;
  expect(done).toEqual(["first step", "command", "last step", "page"]);
  expect(faults.map(String)).toEqual(["Error: refused"]);
});
