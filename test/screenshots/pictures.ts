import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { newConsolePage } from "../support/browser.ts";
import { logIn, PHONE_SIZE } from "../support/console-pages.ts";

/** The appliance that is photographed; `ids` are of rows that addresses name in braces. */
export interface Appliance {
  url: string;
  ids: Readonly<Record<string, string>>;
}

/** A page in one of its states. */
export interface Shot {
  name: string;
  path: string;
  /** What has to be there before the picture is taken; a heading unless given. */
  wait?: string;
  /** What happens to the page's requests before it is opened. */
  before?(page: Page): Promise<unknown>;
  /** What somebody does once the page is open. */
  act?(page: Page): Promise<unknown>;
}

const LOOKS: Readonly<Record<string, BrowserContextOptions>> = {
  light: { colorScheme: "light" },
  dark: { colorScheme: "dark" },
  phone: { viewport: PHONE_SIZE, deviceScaleFactor: 2, colorScheme: "light" },
};

/** Answers of lists that never come, and answers that are faults. */
const LISTS = /\/api\/v1\/(users|devices|notifications)\?/;
const never = (page: Page) => page.route(LISTS, () => undefined);
const broken = (page: Page) =>
  page.route(LISTS, (route) =>
    route.fulfill({ status: 503, json: { type: "storage-full", message: "The disk is full.", errors: [] } }),
  );
const refused = (page: Page) =>
  page.route(LISTS, (route) =>
    route.fulfill({ status: 403, json: { type: "forbidden", message: "Not allowed.", errors: [] } }),
  );
const cut = (page: Page) => page.routeWebSocket(/\/api\/live/, (socket) => void socket.close());

/** What an appliance shows before anything was made. */
export const EMPTY: readonly Shot[] = [
  { name: "now-empty", path: "/", wait: "text=Nothing was sent yet" },
  { name: "people-search-empty", path: "/people?q=nobody", wait: "text=Nothing fits" },
  { name: "templates-empty", path: "/templates", wait: "text=There is no template yet" },
  { name: "lists-empty", path: "/lists", wait: "text=There is no list yet" },
  { name: "broadcasts-empty", path: "/broadcasts", wait: "text=Nothing was sent yet" },
];

/** Every page of a school at work. */
export const PAGES: readonly Shot[] = [
  { name: "now", path: "/", wait: ".ring-piece" },
  { name: "now-cut", path: "/", wait: "text=Connection lost", before: cut },
  { name: "send", path: "/send" },
  { name: "send-template", path: "/send?open={template}" },
  { name: "templates", path: "/templates", wait: "[role=cell]" },
  { name: "template", path: "/templates?open={template}", wait: "[role=dialog] input" },
  { name: "confirmation-requests", path: "/confirmation-requests" },
  { name: "broadcasts", path: "/broadcasts", wait: "[role=cell]" },
  { name: "broadcast", path: "/broadcasts/{finished}", wait: "[role=cell]" },
  { name: "broadcast-failed", path: "/broadcasts/{finished}?level=failed", wait: "[role=cell]" },
  { name: "broadcast-going", path: "/broadcasts/{going}", wait: "[role=cell]" },
  { name: "devices", path: "/devices", wait: "[role=cell]" },
  { name: "devices-silent", path: "/devices?state=silent", wait: "[role=cell]" },
  {
    name: "device",
    path: "/devices?state=silent",
    wait: "[role=cell]",
    act: (page) => page.locator("[role=cell] button").first().click(),
  },
  { name: "devices-loading", path: "/devices", before: never },
  { name: "device-groups", path: "/device-groups", wait: "[role=cell]" },
  { name: "device-group-new", path: "/device-groups?open=new", wait: "[role=dialog] input" },
  { name: "people", path: "/people", wait: "[role=cell]" },
  {
    name: "person",
    path: "/people",
    wait: "[role=cell]",
    act: (page) => page.locator("[role=cell] button").nth(1).click(),
  },
  { name: "people-new", path: "/people?open=new", wait: "[role=dialog] input" },
  { name: "people-fault", path: "/people", before: broken, wait: "[role=alert]" },
  { name: "people-refused", path: "/people", before: refused, wait: "text=You may not see" },
  { name: "lists", path: "/lists", wait: "[role=cell]" },
  { name: "security-groups", path: "/security-groups" },
  { name: "system", path: "/system", wait: ".card li" },
  { name: "welcome", path: "/welcome" },
  {
    name: "search",
    path: "/",
    act: async (page) => {
      await page.keyboard.press("Control+k");
      await page.waitForSelector("[role=combobox]");
      await page.keyboard.type("room");
    },
  },
  { name: "lost", path: "/nowhere" },
];

interface Taking {
  browser: Browser;
  appliance: Appliance;
  pages: readonly Shot[];
  folder: string;
  /** Parts of names to take; all when empty. */
  names: readonly string[];
  say(words: string): void;
}

/** Takes the pages in every look and returns the names of the files; a picture stays the same while its page does, save for times of day and durations. */
export async function takePictures({ browser, appliance, pages, folder, names, say }: Taking): Promise<string[]> {
  const taken: string[] = [];
  for (const [look, options] of Object.entries(LOOKS)) {
    const shots = pages.filter(({ name }) => names.every((part) => `${name}-${look}`.includes(part)));
    if (shots.length === 0) continue;
    const console = await newConsolePage(browser, appliance.url, { ...options, reducedMotion: "reduce" });
    await logIn(console);
    for (const shot of shots) {
      const page = await console.page.context().newPage();
      await take(page, shot, appliance);
      const file = `${shot.name}-${look}.png`;
      await page.screenshot({ path: join(folder, file), animations: "disabled", caret: "hide" });
      await page.close();
      taken.push(file);
      say(file);
    }
    await console.page.context().close();
  }
  return taken;
}

async function take(page: Page, shot: Shot, { url, ids }: Appliance): Promise<void> {
  await shot.before?.(page);
  await page.goto(`${url}${shot.path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? "")}`);
  await page.waitForSelector(shot.wait ?? "h1");
  await shot.act?.(page);
  // What comes in by itself is given the time to come.
  await page.waitForTimeout(700);
}
