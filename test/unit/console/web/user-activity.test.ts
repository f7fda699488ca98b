import { expect, it } from "vitest";
import { watchUserActivity } from "../../../../src/console/web/user-activity.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

it("ends fifteen seconds after the last interaction", () => {
  const clock = createFakeClock();
  const page = new EventTarget();
  const { isIdle, inBackground } = watchUserActivity(page, clock);
  clock.advanceSync(15_000);
  expect(isIdle()).toBe(false);
  clock.advanceSync(1);
  expect(isIdle()).toBe(true);
  page.dispatchEvent(new Event("keydown"));
  expect(isIdle()).toBe(false);
  inBackground(() => expect(isIdle()).toBe(true));
  expect(isIdle()).toBe(false);
});
