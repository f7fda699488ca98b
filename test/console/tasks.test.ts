import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { type BroadcastHarness, startBroadcastHarness } from "../support/broadcast-harness.ts";
import { startBrowser } from "../support/browser.ts";
import { openConsole } from "../support/console-pages.ts";
import { externalProgram } from "../support/external-programs.ts";
import { createInputCounter, type InputCounter } from "../support/input-counter.ts";

const { describe, it } = externalProgram("chromium");

/** Clicks that a task may take. @source console.md, Measure it */
const MAX_CLICKS = { stop: 1, lockdown: 2, why: 4, addPhone: 6, mayAll: 4 };

describe("common tasks in the console", () => {
  let scene: BroadcastHarness;
  let browser: Browser;

  beforeAll(async () => {
    scene = await startBroadcastHarness({ phones: 8, zones: 1, offline: 2 }, 60);
    browser = await startBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    await scene?.end();
  });

  /** Does a task from the page `path` on, prints what it took and asserts it. */
  async function measure(
    task: string,
    most: number,
    path: string,
    act: (page: Page, hands: InputCounter) => Promise<unknown>,
  ): Promise<void> {
    const { page, open, errors } = await openConsole(browser, scene.url());
    await open(path);
    const hands = createInputCounter(page);
    await act(page, hands);
    console.log(`${task}: ${hands.clicks} of ${most} clicks, ${hands.keys} keys`);
    expect(hands.clicks).toBeGreaterThan(0);
    expect(hands.clicks).toBeLessThanOrEqual(most);
    expect(errors).toEqual([]);
  }

  it("stop what sounds, on whatever page they are", async () => {
    await scene.send("Assembly", 240);
    await measure("stop what sounds", MAX_CLICKS.stop, "/people", async (page, hands) => {
      await hands.click(page.getByRole("button", { name: "Stop Assembly" }));
      await page.waitForSelector("text=Stopped: Assembly");
      await page.waitForSelector(".strip", { state: "detached" });
    });
  });

  it("ask why a room stayed silent", async () => {
    const id = await scene.send("Good morning", 1);
    const lines = await scene.waitUntilFinished(id);
    const silent = lines.find(({ level }) => level === "failed");
    const digits = silent?.deviceIdentifier.slice(-4) ?? "";
    await measure("why did this room stay silent", MAX_CLICKS.why, "/", async (page, hands) => {
      await hands.click(page.getByRole("link", { name: /missed the last message/ }));
      await hands.click(page.getByRole("searchbox"));
      await hands.type(silent?.deviceIdentifier ?? "");
      await page.waitForSelector("text=1 entry");
      const row = page.getByRole("row").filter({ hasText: digits });
      await row.getByText(silent?.reason ?? "no reason").waitFor();
    });
    expect(silent?.reason).toMatch(/connection|refused/);
  });

  it("add a phone", async () => {
    await measure("add a phone", MAX_CLICKS.addPhone, "/", async (page, hands) => {
      await hands.click(
        page.getByRole("navigation", { name: "Main navigation" }).getByRole("link", { name: "Devices" }),
      );
      await hands.click(page.getByRole("link", { name: "Add device" }));
      await hands.click(page.getByText("Phone", { exact: true }));
      await hands.click(page.getByRole("textbox", { name: "Name", exact: true }));
      await hands.type("Room 214");
      await hands.press("Tab");
      await hands.type("SEP0011223344AA");
      await hands.press("Tab");
      await hands.type("127.0.0.1");
      await hands.press("Enter");
      await page.waitForSelector("text=Added: Room 214");
    });
    const found = await scene.api().get<{ total: number }>("/devices?deviceIdentifier=SEP0011223344AA");
    expect(found.total).toBe(1);
  });

  it("call a lockdown from a page that has nothing to do with it", async () => {
    const [group] = (await scene.api().get<{ data: { id: string }[] }>("/device-groups")).data;
    const metadata = { console: { emergency: true } };
    const template = { name: "Lockdown", subject: "Lock the doors", deviceGroupIds: [group?.id], metadata };
    await scene.api().post("/message-templates", template);
    await measure("live lockdown, its tile held", MAX_CLICKS.lockdown, "/audit", async (page, hands) => {
      await hands.click(page.getByRole("button", { name: "Emergency: choose a message" }));
      const tile = page.getByRole("button", { name: "Lockdown Lock the doors" });
      await hands.hold(tile, () => page.waitForURL(/broadcasts\/./));
      await page.waitForSelector("h1 >> text=Lock the doors");
      await page.waitForSelector("text=Hold for 1.5 seconds");
    });
    const sent = await scene
      .api()
      .get<{ data: { id: string; drill: boolean }[] }>("/notifications?subject=Lock+the+doors&draft=false");
    expect(sent.data).toMatchObject([{ drill: false }]);
    await scene.api().post(`/notifications/${sent.data[0]?.id}/activities`, { type: "abort" });
  });

  it("show whether a user may send to everyone", async () => {
    const { id } = await scene.api().post<{ id: string }>("/users", { name: "Anna Adler", email: "anna@example.org" });
    await measure("who may send to all", MAX_CLICKS.mayAll, "/", async (page, hands) => {
      await hands.click(
        page.getByRole("navigation", { name: "Main navigation" }).getByRole("link", { name: "People" }),
      );
      await hands.click(page.getByRole("link", { name: "Check permissions" }));
      await hands.click(page.getByRole("combobox", { name: "Person" }));
      await hands.type("anna");
      await page.getByRole("option", { name: "Anna Adler" }).waitFor();
      await hands.press("ArrowDown");
      await hands.press("Enter");
      await hands.click(page.getByRole("combobox", { name: "Resource" }));
      await hands.type("Send messages live");
      await hands.press("ArrowDown");
      await hands.press("Enter");
      await page.getByText("Anna Adler may not do this: Send messages live.").waitFor();
      await page.waitForURL((url) => url.href.includes(id));
    });
  });
});
