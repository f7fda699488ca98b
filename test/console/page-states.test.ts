import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import en from "../../src/console/web/i18n/en.json" with { type: "json" };
import { startBrowser } from "../support/browser.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";
import {
  EMPTY_STATE_TEXTS,
  type NetworkState,
  openStatesWindow,
  routerPaths,
  type StatesWindow,
  samplePaths,
  walkPages,
  withRows,
} from "../support/page-states.ts";

const { describe, it } = externalProgram("chromium");

/** What the frame reads, so that pages know it. */
const KNOWN: readonly string[] = [en["active-notifications.none"], en["cloud.none"]];
const CLAIMS = EMPTY_STATE_TEXTS.filter((words) => !KNOWN.includes(words));

describe("every page of the console", () => {
  let daemon: TestDaemon;
  let browser: Browser;
  let paths: string[];
  /** Where the heading of each page stands once all is there, in px. */
  const tops = new Map<string, number | undefined>();

  beforeAll(async () => {
    daemon = await startTestDaemon();
    browser = await startBrowser();
    const first = await openStatesWindow(browser, daemon.url);
    paths = await withRows(daemon, await routerPaths(first.page));
    const faults = await walkPages(samplePaths(paths, 0), open, async (window, path) => {
      await window.idle();
      tops.set(path, (await window.snapshot()).head?.top);
      return window.errors.splice(0);
    });
    expect(faults).toEqual([]);
  });

  afterAll(async () => {
    await browser?.close();
    await daemon?.stop();
  });

  const open = () => openStatesWindow(browser, daemon.url);

  /** Opens pages on a network as told; what `look` finds at those that read anything. */
  async function walk(
    network: NetworkState,
    third: 0 | 1 | 2,
    look: (window: StatesWindow, path: string) => Promise<string[]>,
  ) {
    const walked = samplePaths(paths, third);
    let count = 0;
    const windows: StatesWindow[] = [];
    const found = await walkPages(
      walked,
      async () => {
        const window = await open();
        window.network(network);
        windows.push(window);
        return window;
      },
      async (window, path) => {
        if (window.requestedPaths().length === 0) return [];
        count++;
        return look(window, path);
      },
    );
    for (const window of windows) window.network("through");
    // Some pages read what others have read: about a third of a sample.
    expect(count).toBeGreaterThan(0.6 * walked.length);
    return found;
  }

  it("shows that it loads, makes no claims until then, and keeps its heading in place", async () => {
    expect(CLAIMS.length).toBeGreaterThan(50);
    const found = await walk("held", 0, async (window, path) => {
      // The page's own code may still come: until then there is no heading. One that never has any ends at the test's limit.
      const { head, text, isReading } = await window.snapshotWhen(({ head }) => Boolean(head));
      const isOfRow = /\/[0-9a-f-]{36}/.test(path);
      return [
        ...(isReading ? [] : ["does not say that it reads"]),
        // The head of a row has a card of its own.
        ...(head?.top === tops.get(path) || isOfRow ? [] : [`jumps from ${head?.top} to ${tops.get(path)}`]),
        ...CLAIMS.filter((words) => text.includes(words)).map((words) => `claims: ${words}`),
      ];
    });
    expect(found).toEqual([]);
  });

  for (const [network, third] of [
    ["starting", 1],
    ["timed out", 2],
  ] as const)
    it(`says that it could not be read (${network}), and offers to try again`, async () => {
      expect(await walk(network, third, faultsWhere)).toEqual([]);
    });

  it("recovers when failed requests work again, without console errors", async () => {
    const found = await walk("broken", 1, async (window) => {
      const broken = [...(await faultsWhere(window)), ...(await window.axe())];
      window.network("through");
      for (let buttons = await retries(window).count(); buttons > 0; buttons = await retries(window).count()) {
        await retries(window).first().click();
        await window.idle();
      }
      const { faults } = await window.snapshotWhen(({ isReading }) => !isReading);
      window.network("broken");
      return [...broken, ...faults.map((fault) => `still says ${fault}`)];
    });
    expect(found).toEqual([]);
  });
});

const retries = ({ page }: StatesWindow) => page.locator("main [role=alert] button");

/** What is wrong with how a page says that it could not be read. */
async function faultsWhere(window: StatesWindow): Promise<string[]> {
  const { head, text, offersRetry } = await window.snapshotWhen(
    ({ isReading, faults }) => !isReading && faults.length > 0,
  );
  return [
    ...(offersRetry ? [] : ["does not offer to try again"]),
    ...(head ? [] : ["has no heading"]),
    ...CLAIMS.filter((words) => text.includes(words)).map((words) => `claims: ${words}`),
  ];
}
