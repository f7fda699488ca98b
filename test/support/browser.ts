import axe, { type AxeResults } from "axe-core";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

/** A page of the console, with what went wrong on it. */
export interface ConsolePage {
  readonly page: Page;
  /** Errors and warnings of the page's console, uncaught exceptions and refusals by the content security policy. */
  readonly faults: string[];
  /** Opens an address of the console and waits until its page is there and at rest. */
  open(path: string): Promise<void>;
  /** What axe finds on the page as it is, by all its rules, by those about colours or by the others, each with the elements it is about. */
  axe(rules?: "colours" | "others"): Promise<string[]>;
}

const AXE_RULES = {
  colours: { runOnly: ["color-contrast"] },
  others: { rules: { "color-contrast": { enabled: false } } },
};

/** A window as on a desk. */
export const WINDOW_SIZE = { width: 1_280, height: 800 };

/** Debian's Chromium without a window, with further switches of its command line; the test closes it. */
export async function startBrowser(args: readonly string[] = []): Promise<Browser> {
  return chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", ...args] });
}

/** A browser window of its own, 1280 px wide unless told, in which nothing moves without need. */
export async function newConsolePage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<ConsolePage> {
  const usual = { viewport: WINDOW_SIZE, locale: "en-US", reducedMotion: "reduce" } as const;
  const context = await browser.newContext({ ...usual, ...options });
  const page = await context.newPage();
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) faults.push(message.text());
  });
  return {
    page,
    faults,
    async open(path) {
      await page.goto(`${url}${path}`);
      await page.waitForSelector("h1");
      await page.waitForLoadState("networkidle");
    },
    async axe(rules) {
      await page.evaluate(`window.axe || (() => { ${axe.source} })()`);
      const options = JSON.stringify({ resultTypes: ["violations"], ...(rules ? AXE_RULES[rules] : {}) });
      const { violations } = await page.evaluate<AxeResults>(`axe.run(document, ${options})`);
      return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
    },
  };
}
