import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { startBrowser } from "../support/browser.ts";
import { openConsole } from "../support/console-pages.ts";
import { startTestDaemon, TEST_ADMIN, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";

const { describe, it } = externalProgram("chromium");

/** @source docs/decisions/0470-confirmation-of-dangerous-changes.md */
describe("a change of whom the appliance trusts, in a session that is a while old", () => {
  let daemon: TestDaemon;
  let browser: Browser;
  let everybody = "";
  let aheadMs = 0;

  beforeAll(async () => {
    const clock = { ...systemClock, now: () => systemClock.now() + aheadMs };
    daemon = await startTestDaemon({ clock });
    browser = await startBrowser();
    everybody = (await daemon.call<{ id: string }>("POST", "/device-groups", { name: "All", filterType: "ACCEPT" }))
      .body.id;
  });
  afterAll(async () => {
    await browser?.close();
    await daemon?.stop();
  });

  const groups = async (): Promise<string[]> =>
    (await daemon.call<{ data: { name: string }[] }>("GET", "/security-groups")).body.data.map(({ name }) => name);

  it("asks for the password over the page, keeps the form, and is made once it is right", async () => {
    const { page, open, axe, errors } = await openConsole(browser, daemon.url);
    await open("/security-groups?open=new");
    aheadMs += 20 * 60_000;
    await page.getByLabel("Name").fill("Night shift");
    await page.getByRole("button", { name: "Save" }).click();
    const dialog = page.getByRole("dialog", { name: "Confirm that it is you" });
    await dialog.waitFor();
    expect([await axe(), await groups()]).toEqual([[], expect.not.arrayContaining(["Night shift"])]);
    await dialog.locator("input[type=password]").fill("wrong horse battery");
    await dialog.getByRole("button", { name: "Confirm" }).click();
    await dialog.getByText("The password is wrong.").waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "hidden" });
    expect([await page.getByLabel("Name").inputValue(), await groups()]).toEqual([
      "Night shift",
      expect.not.arrayContaining(["Night shift"]),
    ]);
    await page.getByRole("button", { name: "Save" }).click();
    await dialog.locator("input[type=password]").fill(TEST_ADMIN.password);
    await dialog.getByRole("button", { name: "Confirm" }).click();
    await dialog.waitFor({ state: "hidden" });
    await expect.poll(groups).toContain("Night shift");
    expect(errors.filter((error) => !/status of 40[03]/.test(error))).toEqual([]);
  });

  it("never stands in the way of a message", async () => {
    const { page, open } = await openConsole(browser, daemon.url);
    aheadMs += 20 * 60_000;
    await open("/send");
    const sent = await page.evaluate<string>(
      `fetch("/api/v1/notifications", { method: "POST", headers: { "content-type": "application/json", "x-carillon-console": "1" },
        body: JSON.stringify({ subject: "Fire", deviceGroupIds: ["${everybody}"] }) }).then(async (answer) => answer.status + " " + await answer.text())`,
    );
    expect(sent).toMatch(/^200 /);
    expect(await page.getByRole("dialog", { name: "Confirm that it is you" }).count()).toBe(0);
  });
});
