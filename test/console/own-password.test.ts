import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { openConsole } from "../support/console-pages.ts";
import { startTestDaemon, TEST_ADMIN, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";

const { describe, it } = externalProgram("chromium");

describe("the user's password", () => {
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

  it("is changed in the account sheet: a weak one is rejected with the reason, other sessions end, this one stays", async () => {
    const { page, open, errors } = await openConsole(browser, daemon.url);
    await open("/");
    await page.getByRole("button", { name: "Your account" }).click();
    await page.getByText("Change password").first().click();
    const fill = async (current: string, next: string) => {
      await page.getByLabel("Current password").fill(current);
      await page.getByLabel("New password").fill(next);
      await page.getByRole("button", { name: "Change password" }).click();
    };
    await fill(TEST_ADMIN.password, "Passw0rd1234");
    await page
      .getByText("The password is too easy to guess. It contains a common password and little else.")
      .first()
      .waitFor();
    await fill(TEST_ADMIN.password, "tangerine lamp six");
    await page.getByText("Password changed.").waitFor();
    await expect.poll(() => page.getByLabel("Current password").inputValue()).toBe("");
    const logIn = async (password: string) =>
      (
        await fetch(`${daemon.url}/api/login`, {
          method: "POST",
          headers: { "content-type": "application/json", origin: daemon.url },
          body: JSON.stringify({ email: TEST_ADMIN.email, password }),
        })
      ).status;
    expect([await logIn(TEST_ADMIN.password), await logIn("tangerine lamp six")]).toEqual([401, 204]);
    await page.reload();
    await page.getByRole("button", { name: "Your account" }).waitFor();
    // Requests that the change overtook were refused and sent once more; the browser notes the refusal.
    expect(errors.filter((error) => !/\b40[01]\b/.test(error))).toEqual([]);
  });
});
