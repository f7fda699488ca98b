import type { Locator, Page } from "playwright-core";

/** Somebody at the console whose clicks and keystrokes are counted. */
export interface CountedHands {
  readonly clicks: number;
  readonly keys: number;
  click(target: Locator): Promise<void>;
  /** A press that stays for so long; counts as a click. */
  hold(target: Locator, ms: number): Promise<void>;
  /** Types where the focus is. */
  type(text: string): Promise<void>;
  /** One key, such as `Tab` or `Control+k`. */
  press(key: string): Promise<void>;
}

/** Hands for a page; what the test does past them is not counted. */
export function countedHands(page: Page): CountedHands {
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
    async hold(target, ms) {
      clicks++;
      await target.click({ delay: ms });
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
