import type { Locator, Page } from "playwright-core";
import { holdUntil } from "./console-pages.ts";

/** Somebody at the console whose clicks and keystrokes are counted. */
export interface InputCounter {
  readonly clicks: number;
  readonly keys: number;
  click(target: Locator): Promise<void>;
  /** A press that stays until what it starts is seen; counts as a click. */
  hold(target: Locator, seen: () => Promise<unknown>): Promise<void>;
  /** Types where the focus is. */
  type(text: string): Promise<void>;
  /** One key, such as `Tab` or `Control+k`. */
  press(key: string): Promise<void>;
}

/** Hands for a page; what the test does past them is not counted. */
export function createInputCounter(page: Page): InputCounter {
  let clicks = 0;
  let keys = 0;
  return {
    get clicks() {
      return clicks;
    },
    get keys() {
      return keys;
    },
    async click(target) {
      clicks++;
      await target.click();
    },
    async hold(target, seen) {
      clicks++;
      await holdUntil(target, seen);
    },
    async type(text) {
      keys += text.length;
      await page.keyboard.type(text);
    },
    async press(key) {
      keys++;
      await page.keyboard.press(key);
    },
  };
}
