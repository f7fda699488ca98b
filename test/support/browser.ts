import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
  type Request,
} from "playwright-core";

/** A page of the console, with what went wrong on it. */
export interface ConsolePage {
  readonly page: Page;
  /** Errors and warnings of the page's console, uncaught exceptions and refusals by the content security policy. */
  readonly errors: string[];
  /** Opens an address of the console and waits until its page is there and at rest. */
  open(path: string): Promise<void>;
  /** Waits until nothing is asked of the server any more, and what came is drawn. */
  idle(): Promise<void>;
  /** What axe finds on the page as it is, by all its rules, by those about colours or by the others, each with the elements it is about. */
  axe(rules?: "colours" | "others"): Promise<string[]>;
}

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const AXE_RULES = {
  colours: { runOnly: ["color-contrast"] },
  others: { rules: { "color-contrast": { enabled: false } } },
};

/** A page that asks without end is a fault. */
const MAX_IDLE_CHECKS = 3_000;

/** How long the browser may take to start, to open a page, or to show what a test waits for. */
const TIMEOUT_MS = 90_000;

/** How a window is opened. */
export interface ConsoleOptions extends BrowserContextOptions {
  /**
   * What the console shows for eight or ten seconds, such as a message or the time to take something back, goes as soon as
   * it does for people. Unless given it stays for minutes: under load a test may look late.
   */
  shortTimeouts?: boolean;
}

const LONG_TOASTS_SCRIPT = `(() => {
  const wait = globalThis.setTimeout;
  globalThis.setTimeout = (work, ms, ...more) => wait(work, ms === 8_000 || ms === 10_000 ? 30 * ms : ms, ...more);
})()`;

/** Until what has come is drawn, and what that asks for has been asked for. */
const TWO_FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))";

/** A window as on a desk. */
export const WINDOW_SIZE = { width: 1_280, height: 800 };

/** Windows that are open. */
const windows = new Set<BrowserContext>();

/** Closes every window: one that stays open goes on drawing whatever happens. */
export async function closeWindows(): Promise<void> {
  const open = [...windows];
  windows.clear();
  await Promise.all(open.map((context) => context.close()));
}

const FULL_BROWSER = "/usr/bin/chromium";
/** Draws the same for a sixth less of the processor's time. */
const HEADLESS_BROWSER = "/usr/bin/chromium-headless-shell";

/**
 * Debian's Chromium without a window, with further switches of its command line; the test closes it. The `whole` browser is
 * for what the one built without windows lacks: it asks for no permissions.
 */
export async function startBrowser(args: readonly string[] = [], whole = false): Promise<Browser> {
  const executablePath = existsSync(HEADLESS_BROWSER) && !whole ? HEADLESS_BROWSER : FULL_BROWSER;
  const launched = { executablePath, args: ["--no-sandbox", "--disable-gpu", ...args], timeout: TIMEOUT_MS };
  return chromium.launch(launched);
}

/** A browser window of its own, 1280 px wide unless told, in which nothing moves without need. */
export async function newConsolePage(
  browser: Browser,
  url: string,
  { shortTimeouts = false, ...options }: ConsoleOptions = {},
): Promise<ConsolePage> {
  const usual = { viewport: WINDOW_SIZE, locale: "en-US", reducedMotion: "reduce" } as const;
  const context = await browser.newContext({ ...usual, ...options });
  windows.add(context);
  context.setDefaultTimeout(TIMEOUT_MS);
  if (!shortTimeouts) await context.addInitScript(LONG_TOASTS_SCRIPT);
  const page = await context.newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()))
      errors.push(`${message.text()} ${message.location().url}`.trim());
  });
  const underWay = new Set<Request>();
  // What a page had asked for is not always told to have ended once another page has taken its place.
  let isLeaving = false;
  page.on("request", (request) => {
    underWay.add(request);
    isLeaving ||= request.isNavigationRequest();
  });
  page.on("framenavigated", () => {
    if (isLeaving) underWay.clear();
    isLeaving = false;
  });
  page.on("requestfinished", (request) => void underWay.delete(request));
  page.on("requestfailed", (request) => void underWay.delete(request));
  const idle = async (): Promise<void> => {
    // Nothing is drawn later by a page without scripts.
    if (options.javaScriptEnabled === false) return page.waitForLoadState();
    for (let quiet = 0, looks = 0; quiet < 3; quiet = underWay.size > 0 ? 0 : quiet + 1) {
      if (looks++ > MAX_IDLE_CHECKS) throw new Error(`asked for without end: ${[...underWay].map((one) => one.url())}`);
      await page.evaluate(TWO_FRAMES);
    }
  };
  return {
    page,
    errors,
    idle,
    async open(path) {
      await page.goto(`${url}${path}`);
      await page.waitForSelector("h1");
      await idle();
    },
    async axe(rules) {
      // Half a megabyte: sent to each document once.
      if (!(await page.evaluate("'axe' in window"))) await page.evaluate(AXE);
      const options = JSON.stringify({ resultTypes: ["violations"], ...(rules ? AXE_RULES[rules] : {}) });
      const { violations } = await page.evaluate<AxeResults>(`axe.run(document, ${options})`);
      return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
    },
  };
}
