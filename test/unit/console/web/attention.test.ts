import { expect, it } from "vitest";
import { watchAttention } from "../../../../src/console/web/user-activity.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

it("a page is left alone fifteen seconds after the last touch", () => {
  const clock = createFakeClock();
  const page = new EventTarget();
  const { isUnattended, asIfAlone } = watchAttention(page, clock);
  clock.tick(15_000);
  expect(isUnattended()).toBe(false);
  clock.tick(1);
  expect(isUnattended()).toBe(true);
  page.dispatchEvent(new Event("keydown"));
  expect(isUnattended()).toBe(false);
  asIfAlone(() => expect(isUnattended()).toBe(true));
  expect(isUnattended()).toBe(false);
});
