import type { Browser, BrowserContext, Locator, Page } from "playwright-core";
import { type ConsoleOptions, type ConsolePage, newConsolePage } from "./browser.ts";
import { TEST_ADMIN } from "./daemon.ts";

/** Every address of the console that is a page of its own, and sheets that are as large as one. */
export const CONSOLE_PAGES = [
  "/",
  "/send",
  "/templates",
  "/templates?open=new",
  "/scenarios?open=new",
  "/launch",
  "/bulk-uploads?open=new",
  "/load-definitions?open=new",
  "/confirmation-requests",
  "/confirmation-requests?open=new",
  "/broadcasts",
  "/bells?view=year&open=change",
  "/bell-schedules?open=new",
  "/subscribed-calendars?open=new",
  "/scheduled-messages?open=new",
  "/bell-print",
  "/devices",
  "/devices?state=untried&type=phones",
  "/device-groups",
  "/device-groups?open=new",
  "/branding",
  "/inputs?open=new",
  "/dialing?open=new",
  "/speech",
  "/people",
  "/people?open=new",
  "/people?q=nobody",
  "/lists",
  "/security-groups",
  "/directory-groups",
  "/provisioning",
  "/domains",
  "/rights",
  "/audit",
  "/system",
  "/time-zone-data",
  "/applications",
  "/webhooks",
  "/welcome",
  "/nowhere",
] as const;

/** A phone held upright. */
export const PHONE_SIZE = { width: 380, height: 760 };

/** Sessions by the daemon's address and the e-mail address of whose they are. */
const sessions = new Map<string, Awaited<ReturnType<BrowserContext["storageState"]>>>();

/**
 * A window of the console in which somebody has logged in; the administrator of test daemons unless told. All windows of
 * a person share one session: a test that ends it opens a window of its own and logs in there.
 */
export async function openConsole(
  browser: Browser,
  url: string,
  options?: ConsoleOptions,
  who: { email: string; password: string } = TEST_ADMIN,
): Promise<ConsolePage> {
  const key = `${url} ${who.email}`;
  const storageState = sessions.get(key);
  const console = await newConsolePage(browser, url, { ...options, ...(storageState ? { storageState } : {}) });
  if (!storageState) {
    await logIn(console, who);
    sessions.set(key, await console.page.context().storageState());
  }
  return console;
}

/** Forgets who has logged in where. */
export function clearSessions(): void {
  sessions.clear();
}

/** Logs in at the console's door. */
export async function logIn(
  { page, open }: Pick<ConsolePage, "page" | "open">,
  { email, password }: { email: string; password: string } = TEST_ADMIN,
): Promise<void> {
  await open("/");
  await page.fill("input[type=email]", email);
  await page.fill("input[type=password]", password);
  await page.click("button[type=submit]");
  await page.waitForSelector(".frame");
}

/** Moves the page's list to a share of its length, as the scroll bar does. */
export async function scrollList(page: Page, share: number): Promise<void> {
  await page.evaluate(
    `(() => { const list = document.querySelector(".table"); list.scrollTop = ${share} * (list.scrollHeight - list.clientHeight); })()`,
  );
}

/** Where the page's list stands, in px. */
export async function listScrollTop(page: Page): Promise<number> {
  return page.evaluate<number>('document.querySelector(".table").scrollTop');
}

/** Presses until what that starts is seen: what a machine under load makes of a press of so many ms nobody knows. */
export async function holdUntil(target: Locator, seen: () => Promise<unknown>): Promise<void> {
  const { mouse } = target.page();
  await target.hover();
  await mouse.down();
  await seen();
  await mouse.up();
}

/** Drags something, once it stands still, from a place within it by so many px. */
export async function dragBy(
  target: Locator,
  from: { x: number; y: number },
  by: { x: number; y: number },
): Promise<void> {
  const { mouse } = target.page();
  await target.hover({ position: from });
  const box = await target.boundingBox();
  if (!box) throw new Error("It is gone.");
  await mouse.down();
  await mouse.move(box.x + from.x + by.x, box.y + from.y + by.y, { steps: 5 });
  await mouse.up();
}
