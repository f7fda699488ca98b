import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { type BroadcastHarness, startBroadcastHarness } from "../support/broadcast-harness.ts";
import { startBrowser, WINDOW_SIZE } from "../support/browser.ts";
import { openConsole, PHONE_SIZE, scrollList } from "../support/console-pages.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";
import { watchLongTasks } from "../support/long-tasks.ts";
import { SEEDED_NOTIFICATION_ID, seedRows } from "../support/seed-rows.ts";

const { describe, it } = externalProgram("chromium");

/** What the browser calls a long task. @source W3C Long Tasks API */
const LONG_TASK_MS = 50;
const PHONES = 1_000;
const OFFLINE = 20;
const SHORT_SECONDS = 0.2;
/** Reasons in the ledger that can't be read to their end. */
const CUT = `[...document.querySelectorAll(".table .wraps")]
  .filter((cell) => [cell, cell.parentElement].some((box) => box.scrollHeight > box.clientHeight || box.scrollWidth > box.clientWidth))
  .map((cell) => cell.textContent)`;
const DELIVERIES = 10_000;

describe(`a broadcast to ${PHONES} phones`, () => {
  let scene: BroadcastHarness;
  let browser: Browser;

  beforeAll(async () => {
    scene = await startBroadcastHarness({ phones: PHONES, zones: 0, offline: OFFLINE }, 1_500);
    browser = await startBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    await scene?.end();
  });

  it("updates its ledger live and shows why some phones did not ring", async () => {
    const { page, open, errors } = await openConsole(browser, scene.url());
    const id = await scene.sendText("Assembly");
    const began = performance.now();
    await open(`/broadcasts/${id}`);
    const tasks = await watchLongTasks(page);
    const reach = page.locator(".bar + .soft").first();
    const seen = new Set<string>();
    const isFull = async (): Promise<boolean> => {
      const words = (await reach.textContent()) ?? "";
      seen.add(words);
      const numberBefore = (what: RegExp): number => Number(what.exec(words)?.[1]?.replace(",", "") ?? 0);
      return numberBefore(/^([\d,]+) of/) + numberBefore(/Not reached: ([\d,]+)/) === PHONES;
    };
    while (!(await isFull())) await page.waitForTimeout(100);
    const filledMs = performance.now() - began;
    const { long, worstCpuMs } = await tasks();
    const failed = (await scene.waitUntilFinished(id)).filter(({ level }) => level === "failed");
    console.log(
      `${PHONES} phones: ledger full ${Math.round(filledMs)} ms after the send in ${seen.size} steps, ${failed.length} silent; ` +
        `longest task ${Math.round(worstCpuMs)} ms of the processor, long by the clock [${long.map(Math.round)}] ms`,
    );
    expect(worstCpuMs).toBeLessThan(LONG_TASK_MS);
    expect(failed.length).toBeGreaterThanOrEqual(OFFLINE);
    await page.getByRole("button", { name: new RegExp(`${failed.length} ?Not reached`) }).click();
    await page.waitForSelector(`text=${failed.length} entries`);
    const known = new Set(failed.map(({ reason }) => reason));
    const areReasons = async (): Promise<boolean> => {
      const shown = await page.locator("[role=row] [role=cell]:nth-child(4)").allTextContents();
      return shown.length > 5 && shown.every((words) => known.has(words));
    };
    await expect.poll(areReasons).toBe(true);
    expect(errors).toEqual([]);
  });

  it("says how many only show a short message, which ones, and why, on a phone too", async () => {
    const console = await openConsole(browser, scene.url());
    const { page, open, axe, errors } = console;
    // The sound begins after 0.7 s and phones answer for 1.5 s.
    const id = await scene.send("Short bell", SHORT_SECONDS);
    await open(`/broadcasts/${id}`);
    const missed = (await scene.waitUntilFinished(id)).filter(({ reason }) => reason?.endsWith("; text only."));
    expect(missed.length).toBeGreaterThan(10);
    await page.getByRole("button", { name: new RegExp(`${missed.length} ?Text only`) }).click();
    await page.waitForSelector(`text=${missed.length} entries`);
    for (const viewport of [WINDOW_SIZE, PHONE_SIZE]) {
      await page.setViewportSize(viewport);
      await page.locator(".table .wraps", { hasText: "The audio had ended before" }).first().scrollIntoViewIfNeeded();
      expect(await page.evaluate<string[]>(CUT), `${viewport.width} px`).toEqual([]);
      expect(await page.evaluate<number>("document.scrollingElement.scrollWidth")).toBeLessThanOrEqual(viewport.width);
      expect(await axe()).toEqual([]);
    }
    expect(errors).toEqual([]);
  });

  it("is stopped with one click while phones are still being called", async () => {
    const { page, open } = await openConsole(browser, scene.url());
    await open("/");
    const id = await scene.send("Long speech", 240);
    await expect.poll(async () => (await scene.deliveries(id)).length).toBe(PHONES);
    await page.getByRole("button", { name: "Stop Long speech" }).first().click();
    await page.waitForSelector("text=Stopped: Long speech");
    await page.waitForSelector(".strip", { state: "detached" });
    const lines = await scene.waitUntilFinished(id);
    expect(lines).toHaveLength(PHONES);
    expect(lines.filter(({ endedAt }) => endedAt === null)).toEqual([]);
  });
});

describe(`the ledger of ${DELIVERIES} deliveries`, () => {
  let daemon: TestDaemon;
  let browser: Browser;

  beforeAll(async () => {
    const rows = { users: 0, devices: DELIVERIES, deliveries: DELIVERIES };
    daemon = await startTestDaemon({ prepare: (dataDir) => seedRows(dataDir, rows) });
    browser = await startBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    await daemon?.stop();
  });

  it("opens at any position, filters by level and exports completely", async () => {
    const { page, open, errors } = await openConsole(browser, daemon.url);
    await open(`/broadcasts/${SEEDED_NOTIFICATION_ID}?sort=name`);
    await page.waitForSelector("text=Room 000000");
    const tasks = await watchLongTasks(page);
    for (const share of [0.5, 0.95, 0.2]) {
      await scrollList(page, share);
      await page.waitForSelector(`text=Room ${String(DELIVERIES * share + (share < 0.5 ? 4 : -2)).padStart(6, "0")}`);
    }
    const { worstCpuMs } = await tasks();
    console.log(`${DELIVERIES} deliveries: longest task ${Math.round(worstCpuMs)} ms of the processor`);
    expect(worstCpuMs).toBeLessThan(LONG_TASK_MS);
    await page.getByRole("button", { name: /200 ?Not reached/ }).click();
    await page.waitForSelector("text=200 entries");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export CSV" }).click(),
    ]);
    const lines = (await (await download.createReadStream()).toArray()).join("").trim().split("\r\n");
    expect(lines).toHaveLength(DELIVERIES + 1);
    expect(errors).toEqual([]);
  });
});
