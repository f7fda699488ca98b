import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { type ConsolePage, newConsolePage, startBrowser } from "../support/browser.ts";
import { logIn } from "../support/console-pages.ts";
import { startTestDaemon, TEST_ADMIN, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";

const { describe, it } = externalProgram("chromium");

const OTHER = { email: "other@example.org", password: "tangerine lamp six" };

describe("a session that expires while a form is filled in", () => {
  let daemon: TestDaemon;
  let browser: Browser;

  beforeAll(async () => {
    daemon = await startTestDaemon();
    browser = await startBrowser();
    const { body } = await daemon.call<{ id: string }>("POST", "/users", { name: "Other", email: OTHER.email });
    await daemon.call("PUT", `/users/${body.id}/password`, { password: OTHER.password });
    await daemon.call("PUT", `/users/${body.id}`, { passwordResetRequired: false });
  });

  afterAll(async () => {
    await browser?.close();
    await daemon?.stop();
  });

  /** A window of the administrator with the form of a new list, in which a name is typed. */
  async function typing(name: string): Promise<ConsolePage> {
    const window = await newConsolePage(browser, daemon.url);
    await logIn(window);
    await window.open("/lists?open=new");
    await window.page.getByLabel("Name").fill(name);
    return window;
  }

  /** The session ends at the server; the browser still sends its cookie. */
  async function expire({ page }: ConsolePage): Promise<void> {
    const cookies = await page.context().cookies();
    const cookie = cookies.map((each) => `${each.name}=${each.value}`).join("; ");
    const { status } = await fetch(`${daemon.url}/api/v1/session`, {
      method: "DELETE",
      headers: { cookie, origin: daemon.url, "x-carillon-console": "1" },
    });
    expect(status).toBe(200);
  }

  const dialogOf = ({ page }: ConsolePage) => page.getByRole("dialog", { name: "Your session has ended" });

  const listsNamed = async (name: string) =>
    (await daemon.call<{ total: number }>("GET", `/distribution-lists?name=${encodeURIComponent(name)}`)).body.total;

  it("asks to log in over the page; what was typed stays, and the save that failed is sent once more", async () => {
    const window = await typing("Parents of 5b");
    const { page } = window;
    await expire(window);
    const dialog = dialogOf(window);
    await dialog.waitFor();
    expect(await dialog.getByLabel("E-mail").inputValue()).toBe(TEST_ADMIN.email);
    expect(await window.axe()).toEqual([]);
    await dialog.locator("input[type=password]").fill(TEST_ADMIN.password);
    await dialog.getByRole("button", { name: "Log in", exact: true }).click();
    await dialog.waitFor({ state: "detached" });
    expect(await page.getByLabel("Name").inputValue()).toBe("Parents of 5b");
    await page.getByRole("button", { name: "Save" }).click();
    await expect.poll(() => listsNamed("Parents of 5b")).toBe(1);
  });

  it("sends the refused save itself after the log-in", async () => {
    const window = await typing("Parents of 6c");
    const { page } = window;
    // The page does not hear of the end of the session before it saves.
    await page.routeWebSocket(/\/api\/live/, () => undefined);
    await page.reload();
    await page.getByLabel("Name").waitFor();
    expect(await page.getByLabel("Name").inputValue()).toBe("Parents of 6c");
    await page.getByText("Restored what you typed").waitFor();
    await page.context().clearCookies();
    await page.getByRole("button", { name: "Save" }).click();
    const dialog = dialogOf(window);
    await dialog.locator("input[type=password]").fill(TEST_ADMIN.password);
    await dialog.getByRole("button", { name: "Log in", exact: true }).click();
    await expect.poll(() => listsNamed("Parents of 6c")).toBe(1);
    await page.getByText("Saved.", { exact: true }).waitFor();
    expect(
      await page.evaluate<number>("Object.keys(sessionStorage).filter((key) => key.includes('draft')).length"),
    ).toBe(0);
  });

  it("resets the page for another person, who sees nothing of what was typed", async () => {
    const window = await typing("Only mine");
    const { page } = window;
    await expire(window);
    const dialog = dialogOf(window);
    await dialog.getByLabel("E-mail").fill(OTHER.email);
    await dialog.locator("input[type=password]").fill(OTHER.password);
    await dialog.getByRole("button", { name: "Log in", exact: true }).click();
    await dialog.waitFor({ state: "detached" });
    await page.waitForSelector(".frame");
    expect(new URL(page.url()).pathname).toBe("/");
    await page.goto(`${daemon.url}/lists?open=new`);
    await page.waitForSelector("h1");
    expect(await page.getByText("Restored what you typed").count()).toBe(0);
    expect(await listsNamed("Only mine")).toBe(0);
  });

  it("can be left for the log-in page", async () => {
    const window = await typing("Given up");
    await expire(window);
    await dialogOf(window).getByRole("button", { name: "Leave this page" }).click();
    await window.page.locator("main.alone").waitFor();
    expect(await dialogOf(window).count()).toBe(0);
  });

  it("keeps no secret of a form in the browser", async () => {
    const window = await newConsolePage(browser, daemon.url);
    await logIn(window);
    await window.open("/people?open=new");
    const { page } = window;
    await page.getByRole("textbox", { name: "Name" }).first().fill("Bea");
    const secret = page.locator(".mantine-Drawer-body input[type=password]");
    expect(await secret.count()).toBeGreaterThan(0);
    for (const field of await secret.all()) await field.fill("tangerine lamp six");
    const kept = await page.evaluate<string>("JSON.stringify(sessionStorage)");
    expect(kept).toContain("Bea");
    expect(kept).not.toContain("tangerine");
  });
});
