import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { openConsole } from "../support/console-pages.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";

const { describe, it } = externalProgram("chromium");

const ANN = { email: "ann@example.org", password: "correct horse battery" };
const BOB = { email: "bob@example.org", password: "correct horse battery" };

/** A phone or computer that confirms by itself. @source Chrome DevTools Protocol, WebAuthn domain */
async function addAuthenticator(page: Page): Promise<void> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("WebAuthn.enable");
  await devtools.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      ...{ protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true },
      ...{ isUserVerified: true, automaticPresenceSimulation: true },
    },
  });
}

describe("a passkey", () => {
  let daemon: TestDaemon;
  let browser: Browser;
  let url: string;
  let bobId: string;

  beforeAll(async () => {
    daemon = await startTestDaemon();
    browser = await startBrowser();
    // Browsers have no passkeys at addresses.
    url = daemon.url.replace("127.0.0.1", "localhost");
    for (const [name, { email, password }] of [["Ann", ANN] as const, ["Bob", BOB] as const]) {
      const { body } = await daemon.call<{ id: string }>("POST", "/users", { name, email });
      await daemon.call("PUT", `/users/${body.id}/password`, { password });
      bobId = body.id;
    }
  });

  afterAll(async () => {
    await browser?.close();
    await daemon?.stop();
  });

  it("is created in the user's account, logs in alone and after the password, and is removed", async () => {
    const { page, open, idle, axe, errors } = await openConsole(browser, url, undefined, ANN);
    await addAuthenticator(page);
    const button = (name: string) => page.getByRole("button", { name, exact: true });
    await open("/");
    await page.getByRole("button", { name: "Your account" }).click();
    await button("Add passkey").click();
    await page.getByLabel("Name of the passkey").fill("Ann's phone");
    await button("Create passkey").click();
    await button("I have saved the codes").waitFor();
    expect(await page.locator("li code").count()).toBe(10);
    await button("I have saved the codes").click();
    await page.getByText("Ann's phone").waitFor();
    expect(await axe()).toEqual([]);

    await button("Log out").click();
    await button("Use a passkey").click();
    await page.getByRole("navigation", { name: "Main navigation" }).waitFor();

    await page.getByRole("button", { name: "Your account" }).click();
    await button("Log out").click();
    await page.locator("input[type=email]").fill(ANN.email);
    await page.locator("input[type=password]").fill(ANN.password);
    await button("Log in").click();
    await page.getByRole("heading", { name: "Confirm your log-in" }).waitFor();
    expect(await axe()).toEqual([]);
    await button("Use a passkey").click();
    await page.getByRole("navigation", { name: "Main navigation" }).waitFor();

    await page.getByRole("button", { name: "Your account" }).click();
    await button("Remove passkey Ann's phone").click();
    await page
      .locator("form")
      .filter({ has: button("Remove passkey") })
      .locator("input[type=password]")
      .fill(ANN.password);
    await button("Remove passkey").click();
    await page.getByText("Second factor removed.").waitFor();
    await idle();
    // Ann may do nothing else.
    expect(errors.filter((error) => !/status of (?:401|403) .*\/api\//.test(error))).toEqual([]);
  });

  it("is set up at the log-in by members of a group that requires a second factor", async () => {
    const group = await daemon.call<{ id: string }>("POST", "/security-groups", {
      ...{ name: "Office", secondFactorRequired: true },
    });
    await daemon.call("POST", `/security-groups/${group.body.id}/members`, { userId: bobId });
    const context = await browser.newContext();
    const page = await context.newPage();
    await addAuthenticator(page);
    const button = (name: string) => page.getByRole("button", { name, exact: true });
    await page.goto(url);
    await page.locator("input[type=email]").fill(BOB.email);
    await page.locator("input[type=password]").fill(BOB.password);
    await button("Log in").click();
    await page.getByRole("heading", { name: "Set up a second factor" }).waitFor();
    await button("Add passkey").click();
    await page.getByLabel("Name of the passkey").fill("Key ring");
    await button("Create passkey").click();
    await button("I have saved the codes").click();
    await page.getByRole("navigation", { name: "Main navigation" }).waitFor();
    await context.close();
  });
});
