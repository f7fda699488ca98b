import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { openConsole } from "../support/console-pages.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";

const { describe, it } = externalProgram("chromium");

describe("two people who edit the same row", () => {
  let daemon: TestDaemon;
  let browser: Browser;

  beforeAll(async () => {
    daemon = await startTestDaemon();
    browser = await startBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    await daemon?.stop();
  });

  /** The sheet of a new list in a window that hears nothing of changes by others before it saves. */
  async function editing(name: string, isLive: boolean) {
    const { body } = await daemon.call<{ id: string }>("POST", "/distribution-lists", { name });
    const window = await openConsole(browser, daemon.url);
    if (!isLive) await window.page.routeWebSocket(/\/api\/live/, () => undefined);
    await window.open(`/lists?open=${body.id}`);
    const field = window.page.getByRole("textbox", { name: "Name" }).first();
    await expect.poll(() => field.inputValue()).toBe(name);
    const change = (fields: object) => daemon.call("PUT", `/distribution-lists/${body.id}`, fields);
    const row = async () =>
      (await daemon.call<{ name: string; isSubscribable: boolean }>("GET", `/distribution-lists/${body.id}`)).body;
    return { ...window, field, change, row };
  }

  it("keeps both changes where they changed different fields", async () => {
    const { page, field, change, row } = await editing("A", false);
    await change({ isSubscribable: true });
    await field.fill("A mine");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved.", { exact: true }).waitFor();
    expect(await row()).toMatchObject({ name: "A mine", isSubscribable: true });
  });

  it("shows the other value of a field that both changed, and saves neither before one is chosen", async () => {
    const { page, field, change, row, axe } = await editing("B", false);
    await change({ name: "B theirs", isSubscribable: true });
    await field.fill("B mine");
    await page.getByRole("button", { name: "Save" }).click();
    const other = page.locator(".field-conflict");
    await other.waitFor();
    expect(await other.count()).toBe(1);
    expect(await other.getByRole("textbox").inputValue()).toBe("B theirs");
    expect(await page.getByRole("button", { name: "Save" }).isDisabled()).toBe(true);
    expect((await row()).name).toBe("B theirs");
    expect(await axe()).toEqual([]);
    await other.getByRole("button", { name: "Keep mine" }).click();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved.", { exact: true }).waitFor();
    expect(await row()).toMatchObject({ name: "B mine", isSubscribable: true });
  });

  it("shows it as soon as the other person saves, and takes it over on request", async () => {
    const { page, field, change, row } = await editing("C", true);
    await field.fill("C mine");
    await change({ name: "C theirs" });
    const other = page.locator(".field-conflict");
    await other.getByRole("button", { name: "Use theirs" }).click();
    expect(await field.inputValue()).toBe("C theirs");
    await expect.poll(() => page.getByRole("button", { name: "Save" }).isDisabled()).toBe(true);
    expect((await row()).name).toBe("C theirs");
  });
});
