import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { listScrollTop, openConsole, scrollList } from "../support/console-pages.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";
import { watchLongTasks } from "../support/long-tasks.ts";
import { seedRows } from "../support/seed-rows.ts";

const { describe, it } = externalProgram("chromium");

/** `CARILLON_ROWS=100000` measures the console at its full size. */
const ROWS = Number(process.env.CARILLON_ROWS ?? 20_000);
/** Rows that the page holds at a time, whatever the length of the list: what a screen shows and some beside it. */
const MOST_ROWS = 150;
/**
 * Far more than a list takes that is drawn in part (25 ms of the processor, printed), and far less than one of 20,000 rows that
 * is drawn whole: the machine does other things too.
 */
const BLOCKED_MS = 500;

const lists = [
  { path: "/people", one: "Person", last: `Person ${String(ROWS - 1).padStart(6, "0")}` },
  { path: "/devices", one: "Room", last: `Room ${String(ROWS - 1).padStart(6, "0")}` },
];

const rowOf = (one: string, n: number) => `text=${one} ${String(n).padStart(6, "0")}`;

describe(`a list of ${ROWS} rows`, () => {
  let daemon: TestDaemon;
  let browser: Browser;

  beforeAll(async () => {
    daemon = await startTestDaemon({ prepare: (dataDir) => seedRows(dataDir, { users: ROWS, devices: ROWS }) });
    browser = await startBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    await daemon?.stop();
  });

  for (const { path, one, last } of lists)
    it(`at ${path} scrolls by wheel and by jumps without blocking the browser`, async () => {
      const { page, open, errors } = await openConsole(browser, daemon.url);
      await open(path);
      await page.waitForSelector(rowOf(one, 0));
      const tasks = await watchLongTasks(page);
      const box = await page.locator(".table").boundingBox();
      await page.mouse.move((box?.x ?? 0) + 200, (box?.y ?? 0) + 200);
      for (let turn = 0; turn < 60; turn++) {
        await page.mouse.wheel(0, 900);
        await page.waitForTimeout(16);
      }
      const took: number[] = [];
      for (const share of [0.5, 0.1, 0.9, 0.33, 0.77]) took.push(await jump(page, share, one));
      await page.keyboard.press("Home");
      await scrollList(page, 1);
      await page.waitForSelector(`text=${last}`);
      const { long, worstCpuMs } = await tasks();
      console.log(
        `${path}: ${ROWS} rows, longest task ${Math.round(worstCpuMs)} ms of the processor, long by the clock ` +
          `[${long.map(Math.round)}] ms, jumps [${took.map(Math.round)}] ms until the rows stand there`,
      );
      expect(worstCpuMs).toBeGreaterThan(1);
      expect(worstCpuMs).toBeLessThan(BLOCKED_MS);
      expect(await page.locator("[role=row]").count()).toBeLessThan(MOST_ROWS);
      expect(errors).toEqual([]);
    });

  for (const { path, one } of lists)
    it(`at ${path} finds a row at once`, async () => {
      const { page, open } = await openConsole(browser, daemon.url);
      await open(path);
      const n = Math.floor(ROWS * 0.6);
      const began = performance.now();
      await page.getByRole("searchbox").fill(`${one} ${String(n).padStart(6, "0")}`);
      await page.waitForSelector("text=1 entry");
      await page.waitForSelector(rowOf(one, n));
      const ms = performance.now() - began;
      console.log(`${path}: found 1 of ${ROWS} ${Math.round(ms)} ms after the last key`);
    });

  it("keeps its place while rows change, and reads the changed row alone", async () => {
    const { page, open } = await openConsole(browser, daemon.url);
    await open("/people");
    await page.waitForSelector(rowOf("Person", 0));
    await jump(page, 0.5, "Person");
    const top = () => listScrollTop(page);
    const before = await top();
    const cell = page.locator("[role=row]").filter({ hasText: `Person ${String(ROWS / 2 + 5).padStart(6, "0")}` });
    const found = await daemon.call<{ data: { id: string }[] }>(
      "GET",
      `/users?name=${encodeURIComponent((await cell.locator("[role=cell]").first().textContent()) ?? "")}`,
    );
    const id = found.body.data[0]?.id ?? "";
    const asked: string[] = [];
    page.on("request", (request) => asked.push(decodeURIComponent(request.url())));
    await daemon.call("PUT", `/users/${id}`, { email: "moved@example.org" });
    await cell.getByText("moved@example.org").waitFor();
    const users = asked.filter((url) => url.includes("/api/v1/users?"));
    expect(users).toEqual([expect.stringContaining(`ids[]=${id}`)]);
    expect(await top()).toBe(before);
  });
});

/** Drags the list to a share of its length; the ms until the rows of that place are there. */
async function jump(page: Page, share: number, one: string): Promise<number> {
  const began = performance.now();
  await scrollList(page, share);
  await page.waitForSelector(rowOf(one, Math.floor(ROWS * share) + (share < 0.5 ? 2 : -2)));
  return performance.now() - began;
}
