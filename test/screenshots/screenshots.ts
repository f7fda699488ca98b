import { join } from "node:path";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { newConsolePage } from "../support/browser.ts";
import { logIn, PHONE_SIZE } from "../support/console-pages.ts";
import { NOW_MS, stubNextRings } from "./screenshot-time.ts";

/** The appliance that is photographed; `ids` are of rows that addresses name in braces. */
export interface PhotographedAppliance {
  url: string;
  /** The moment, in epoch ms, that all times in the pictures are counted from. */
  since: number;
  ids: Readonly<Record<string, string>>;
}

/** A page in one of its states. */
export interface Screenshot {
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

const tab = (name: string) => async (page: Page) => {
  await page.getByRole("tab", { name, exact: true }).click();
  await page.waitForSelector("[role=tabpanel]:visible");
};

/** What a template says stands in the form, and whom it reaches beside it. */
const filled = async (page: Page) => {
  await page.waitForFunction("document.querySelector('form input')?.value");
  await page.getByText("Audio length").waitFor();
};

/** What an appliance shows before anything was made. */
export const EMPTY_PAGES: readonly Screenshot[] = [
  { name: "now-empty", path: "/", wait: "text=No messages yet" },
  { name: "people-search-empty", path: "/people?q=nobody", wait: "text=No results" },
  { name: "templates-empty", path: "/templates", wait: "text=No templates yet" },
  { name: "lists-empty", path: "/lists", wait: "text=No lists yet" },
  { name: "broadcasts-empty", path: "/broadcasts", wait: "text=No messages yet" },
];

/** Every page of a school at work. */
export const PAGES: readonly Screenshot[] = [
  { name: "now", path: "/", wait: ".countdown", before: stubNextRings },
  { name: "now-cut", path: "/", wait: "text=Connection lost", before: cut },
  { name: "send", path: "/send" },
  { name: "send-template", path: "/send?open={template}", act: filled },
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
  { name: "person-devices", path: "/people?open={teacher}", act: tab("Devices") },
  { name: "person-tokens", path: "/people?open={teacher}", act: tab("API tokens") },
  { name: "person-rights", path: "/people?open={teacher}", act: tab("Permissions") },
  { name: "lists", path: "/lists", wait: "[role=cell]" },
  { name: "list-members", path: "/lists?open={list}", act: tab("Members") },
  { name: "security-groups", path: "/security-groups", wait: "[role=cell]" },
  { name: "security-group", path: "/security-groups?open={office}", wait: "[role=dialog] input" },
  { name: "security-group-grants", path: "/security-groups?open={office}", act: tab("Permissions") },
  { name: "security-group-templates", path: "/security-groups?open={office}", act: tab("Templates") },
  { name: "security-group-directory", path: "/security-groups?open={office}", act: tab("Directory") },
  { name: "directory-groups", path: "/directory-groups", wait: "[role=cell]" },
  { name: "domains", path: "/domains", wait: ".branch" },
  { name: "domain-members", path: "/domains?open={north}", act: tab("Contents") },
  {
    name: "rights",
    path: "/rights?user={teacher}&thing=post+%2Fnotifications",
    wait: "[placeholder='In its first domain']",
  },
  { name: "audit", path: "/audit", wait: "[role=cell]" },
  {
    name: "audit-entry",
    path: "/audit?op=update",
    wait: "[role=cell]",
    act: (page) => page.locator("[role=cell] button").first().click(),
  },
  { name: "system", path: "/system", wait: ".card li" },
  {
    name: "plugin",
    path: "/system",
    wait: ".card li",
    act: (page) => page.getByRole("button", { name: /^ip-phones/ }).click(),
  },
  { name: "places", path: "/places?open={site}%2F{building}%2F{floor}%2F{zone}", wait: "[role=dialog] input" },
  { name: "place-site", path: "/places?open={site}", act: tab("Roles") },
  { name: "place-plan", path: "/places?open={site}%2F{building}%2F{floor}", act: tab("Plan") },
  { name: "site-roles", path: "/site-roles", wait: "[role=cell]" },
  { name: "inputs", path: "/inputs?open={button}", wait: "[role=dialog] input" },
  { name: "areas", path: "/areas", wait: ".map-name" },
  { name: "area", path: "/areas?open={area}", wait: ".map-edge" },
  { name: "area-triggers", path: "/areas?open={area}", act: tab("Triggers") },
  { name: "chat-groups", path: "/chat-groups" },
  { name: "profiles", path: "/profiles", wait: "[role=cell]" },
  { name: "speech", path: "/speech", wait: "[role=cell]" },
  { name: "branding", path: "/branding" },
  { name: "applications", path: "/applications" },
  { name: "webhooks", path: "/webhooks" },
  { name: "welcome", path: "/welcome" },
  {
    name: "emergency",
    path: "/",
    act: async (page) => {
      await page.getByRole("button", { name: /^Emergency/ }).click();
      await page.waitForSelector(".emergency-tile");
    },
  },
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

/** Windows of one look, in which somebody has logged in. */
interface OpenLook {
  look: string;
  context: BrowserContext;
}

/** Opens a window of each look. */
export async function openBrowserWindows(browser: Browser, url: string): Promise<OpenLook[]> {
  return Promise.all(
    Object.entries(LOOKS).map(async ([look, options]) => {
      const still = { reducedMotion: "reduce", timezoneId: "UTC" } as const;
      const console = await newConsolePage(browser, url, { ...options, ...still });
      await logIn(console);
      const context = console.page.context();
      await console.page.close();
      await context.clock.setFixedTime(NOW_MS);
      return { look, context };
    }),
  );
}

interface Taking {
  windows: readonly OpenLook[];
  appliance: PhotographedAppliance;
  pages: readonly Screenshot[];
  folder: string;
  /** Whether the picture of this name is taken. */
  wants(name: string): boolean;
  say(words: string): void;
}

/** Pages of one look that are open at a time: more would only wait for each other. */
const AT_ONCE = 2;

/** Takes the pages in every look and returns the names of the files. A picture stays the same while its page does. */
export async function takeScreenshots({ windows, appliance, pages, folder, wants, say }: Taking): Promise<string[]> {
  const taken: string[] = [];
  const work = windows.flatMap(({ look, context }) => {
    const waiting = pages.filter(({ name }) => wants(`${name}-${look}`));
    return Array.from({ length: AT_ONCE }, async () => {
      for (let shot = waiting.shift(); shot; shot = waiting.shift()) {
        const file = `${shot.name}-${look}.png`;
        const page = await context.newPage();
        await take(page, shot, appliance);
        await page.screenshot({ path: join(folder, file), animations: "disabled", caret: "hide" });
        await page.close();
        taken.push(file);
        say(file);
      }
    });
  });
  await Promise.all(work);
  return taken;
}

/** How long ago, by those clocks, the appliance's `since` is. */
const SINCE_MS = 95_000;
/** Time for what comes in by itself. */
const REST_MS = 5_000;

/** The clocks of all windows stand still; what the appliance says of times is moved to them. */
function moveTimes(page: Page, since: number): Promise<unknown> {
  return page.addInitScript(`(() => {
    const ask = globalThis.fetch;
    const moved = (iso) =>
      new Date(Math.min(${NOW_MS}, Date.parse(iso) + ${NOW_MS - SINCE_MS - since})).toISOString();
    globalThis.fetch = async (...request) => {
      const answer = await ask(...request);
      if (!answer.headers.get("content-type")?.startsWith("application/json")) return answer;
      const text = (await answer.text()).replace(/\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z/g, moved);
      return new Response(text, answer);
    };
  })()`);
}

async function take(page: Page, shot: Screenshot, { url, since, ids }: PhotographedAppliance): Promise<void> {
  await moveTimes(page, since);
  await shot.before?.(page);
  await page.goto(`${url}${shot.path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? "")}`);
  await page.waitForSelector(shot.wait ?? "h1");
  await shot.act?.(page);
  await Promise.race([page.waitForLoadState("networkidle"), page.waitForTimeout(REST_MS)]);
}
