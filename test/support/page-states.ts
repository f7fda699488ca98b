import type { Browser, Page, Route } from "playwright-core";
import { createApiClient } from "../../src/api-client/api-client.ts";
import en from "../../src/console/web/i18n/en.json" with { type: "json" };
import type { ConsoleOptions, ConsolePage } from "./browser.ts";
import { openConsole } from "./console-pages.ts";
import type { TEST_ADMIN, TestDaemon } from "./daemon.ts";
import { createSampleScenarios } from "./scenario-samples.ts";

/** What becomes of whatever a page of the console reads; the frame around it is always answered. */
export type NetworkState = "through" | "held" | "broken" | "starting" | "timed out";

/** What is seen of a page. */
export interface PageSnapshot {
  /** The first heading, and how far it is from the top of the window, in px. */
  head: { text: string; top: number } | null;
  text: string;
  /** That it reads. */
  isReading: boolean;
  /** What it says of faults, and whether each can be tried again. */
  faults: readonly string[];
  offersRetry: boolean;
  isTooWide: boolean;
}

/** A window of the console whose network does as it is told. */
export interface StatesWindow extends ConsolePage {
  network(next: NetworkState): void;
  /** Leads to another page as a link does, and waits until its code is there. */
  navigate(path: string): Promise<void>;
  /** Addresses that were read since the last `go`, beside those of the frame, and of them those that were forbidden. */
  requestedPaths(): readonly string[];
  forbiddenPaths(): readonly string[];
  /** Cuts the live feed and everything else, or mends it. */
  cut(isCut: boolean): Promise<void>;
  snapshot(): Promise<PageSnapshot>;
  /** What is seen as soon as it is so. */
  snapshotWhen(is: (seen: PageSnapshot) => boolean): Promise<PageSnapshot>;
}

/** What pages say where there is nothing; said of what is not known it is a lie. */
export const EMPTY_STATE_TEXTS = Object.entries(en)
  .filter(([key, text]) => /(^|[.-])none(-yet)?$/.test(key) && text.endsWith(".") && !text.includes("{"))
  .map(([, text]) => text);

const API = /\/api\/(v1\/|schema)/;
const ANSWERS: Readonly<Partial<Record<NetworkState, { status: number; type: string }>>> = {
  broken: { status: 500, type: "internal" },
  starting: { status: 503, type: "starting" },
};

/** A page that is not left by then is never left. */
const NAVIGATION_TIMEOUT_MS = 60_000;

/** Nobody waits here for the second try of a reading, nor for the first of the feed. */
const SHORT_TIMEOUTS_SCRIPT = `(() => {
  const wait = globalThis.setTimeout;
  globalThis.setTimeout = (work, ms, ...more) => wait(work, ms === 1_000 || ms === 500 ? 10 : ms, ...more);
})()`;

/** The router has come to rest at the address, and what stands there is drawn. */
const SHOWN = `(({ state: { status, isLoading, isTransitioning, resolvedLocation } }) =>
  status === "idle" && !isLoading && !isTransitioning && resolvedLocation.href === location.pathname)(__TSR_ROUTER__)`;
const TWO_FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))";

const SEEN = `(() => {
  const place = document.querySelector(".launch") ?? document.querySelector("main");
  const head = place.querySelector("h1");
  const faults = [...place.querySelectorAll("[role=alert]")].filter((each) => !each.closest(".sound") && each.innerText.trim());
  const parts = [document.documentElement, ...document.querySelectorAll("[role=dialog], dialog, main")];
  return {
    head: head && { text: head.textContent, top: Math.round(head.getBoundingClientRect().top) },
    text: place.innerText,
    isReading: document.querySelector(".reading > span") !== null,
    faults: faults.map((each) => each.innerText),
    offersRetry: faults.length > 0 && faults.every((each) => each.querySelector("button") !== null),
    isTooWide: parts.some((part) => part.scrollWidth > innerWidth),
  };
})()`;

/** Every address of the console's router, as it stands in the browser; `$name` stands for the id of a row. */
export async function routerPaths(page: Page): Promise<string[]> {
  const paths = await page.evaluate<string[]>("Object.keys(__TSR_ROUTER__.routesByPath)");
  return paths.filter((path) => path.startsWith("/"));
}

/** Fills the paths of the router with rows that it makes for them. */
export async function withRows({ url, first }: TestDaemon, paths: readonly string[]): Promise<string[]> {
  const api = createApiClient(url, first.token);
  const all = { name: "Everywhere", filterType: "ACCEPT", filters: [] };
  const made = await createSampleScenarios(api, (await api.post<{ id: string }>("/device-groups", all)).id);
  const sent = await api.get<{ data: { id: string }[] }>("/notifications?limit=1");
  const ids: Record<string, string | undefined> = {
    ...{ $scenarioId: made.fire, $incidentId: made.incident, $notificationId: sent.data[0]?.id },
  };
  return paths.map((path) => path.replace(/\$\w+/g, (name) => ids[name] ?? name));
}

/** Opens a window of which each request is watched, at an address where there is the frame alone. */
export async function openStatesWindow(
  browser: Browser,
  url: string,
  options?: ConsoleOptions,
  who?: typeof TEST_ADMIN,
): Promise<StatesWindow> {
  const window = await openConsole(browser, url, options, who);
  const { page } = window;
  let network: NetworkState = "through";
  let isCut = false;
  let read: string[] = [];
  let forbidden: string[] = [];
  let ofFrame: ReadonlySet<string> = new Set();
  const held: Route[] = [];
  const waiting: (() => void)[] = [];
  const feeds = new Set<() => Promise<void>>();
  const addressOf = (address: string): string => address.slice(url.length);
  page.on("response", (answer) => {
    const address = addressOf(answer.url());
    // What the page before had asked for may be answered late.
    if (answer.status() === 403 && read.includes(address)) forbidden.push(address);
  });
  await page.addInitScript(SHORT_TIMEOUTS_SCRIPT);
  await page.routeWebSocket(/\/api\/live/, async (socket) => {
    // As on a dead cable: a try to connect is neither taken nor refused.
    if (isCut) await new Promise<void>((go) => waiting.push(go));
    socket.connectToServer();
    feeds.add(() => socket.close());
  });
  await page.route(API, async (route) => {
    const address = addressOf(route.request().url());
    if (isCut) return route.abort("internetdisconnected");
    if (route.request().method() !== "GET" || ofFrame.has(address)) return route.continue();
    read.push(address);
    if (network === "held") return void held.push(route);
    if (network === "timed out") return route.abort("timedout");
    const answer = ANSWERS[network];
    if (!answer) return route.continue();
    await route.fulfill({ status: answer.status, json: { ...answer, message: "", errors: [] } });
  });
  await window.open("/nowhere");
  ofFrame = new Set(read);
  const states: StatesWindow = {
    ...window,
    network(next) {
      network = next;
      // What has left its page takes no answer any more.
      if (next !== "held") for (const route of held.splice(0)) void route.continue().catch(() => undefined);
    },
    async navigate(path) {
      read = [];
      forbidden = [];
      // Who has typed nothing must not be asked whether to leave.
      const isStuck = `new Promise((_, no) => setTimeout(no, ${NAVIGATION_TIMEOUT_MS}, new Error("${path}: the page before holds on")))`;
      await page.evaluate(`Promise.race([__TSR_ROUTER__.navigate({ href: ${JSON.stringify(path)} }), ${isStuck}])`);
      await until(page, () => page.evaluate<boolean>(SHOWN), Boolean);
      await page.evaluate(TWO_FRAMES);
    },
    requestedPaths: () => read,
    forbiddenPaths: () => forbidden,
    async cut(next) {
      isCut = next;
      if (!next) for (const go of waiting.splice(0)) go();
      const open = [...feeds];
      feeds.clear();
      if (next) await Promise.all(open.map((close) => close()));
    },
    snapshot: () => page.evaluate<PageSnapshot>(SEEN),
    snapshotWhen: (is) => until(page, () => states.snapshot(), is),
  };
  return states;
}

/** So many windows walk at once: each waits for frames and answers most of the time. */
const MAX_WINDOWS = 3;

/** `CARILLON_PAGES=all` looks at each page in each state; the suite at every third one, in each state at others. */
export function samplePaths(paths: readonly string[], third: 0 | 1 | 2): readonly string[] {
  return process.env.CARILLON_PAGES === "all" ? paths : paths.filter((_, at) => at % 3 === third);
}

/**
 * Walks the pages in several windows at once, each of which `open` opens. Gives what `look` finds at a page, the page's
 * path before it.
 */
export async function walkPages(
  paths: readonly string[],
  open: () => Promise<StatesWindow>,
  look: (window: StatesWindow, path: string) => Promise<readonly string[]>,
): Promise<string[]> {
  // One after the other: those after the first take over its session.
  const windows: StatesWindow[] = [];
  for (let n = 0; n < MAX_WINDOWS; n++) windows.push(await open());
  const left = [...paths];
  const walk = async (window: StatesWindow): Promise<string[]> => {
    const found: string[] = [];
    for (let path = left.shift(); path !== undefined; path = left.shift()) {
      await window.navigate(path);
      const faults = await look(window, path);
      found.push(...faults.map((fault) => `${path} ${fault}`));
    }
    return found;
  };
  return (await Promise.all(windows.map(walk))).flat();
}

/** Looks once per frame; the test's own limit ends what never comes. */
async function until<T>(page: Page, look: () => Promise<T>, is: (seen: T) => boolean): Promise<T> {
  for (;;) {
    const seen = await look();
    if (is(seen)) return seen;
    await page.evaluate(TWO_FRAMES);
  }
}
