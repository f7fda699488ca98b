import { AxeBuilder } from "@axe-core/playwright";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

/** A page of the console, with what went wrong on it. */
export interface ConsolePage {
  readonly page: Page;
  /** Errors and warnings of the page's console, uncaught exceptions and refusals by the content security policy. */
  readonly faults: string[];
  /** Opens an address of the console and waits until its page is there and at rest. */
  open(path: string): Promise<void>;
  /** What axe finds on the page as it is, each with the elements it is about. */
  axe(): Promise<string[]>;
}

/** Debian's Chromium without a window, with further switches of its command line; the test closes it. */
export async function startBrowser(args: readonly string[] = []): Promise<Browser> {
  return chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", ...args] });
}

/** A browser window of its own, 1280 px wide unless told. */
export async function newConsolePage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<ConsolePage> {
  const context = await browser.newContext({ viewport: { width: 1_280, height: 800 }, locale: "en-US", ...options });
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
    async axe() {
      const { violations } = await new AxeBuilder({ page }).analyze();
      return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
    },
  };
}
