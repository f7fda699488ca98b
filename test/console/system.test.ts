import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import { ALARM_IDS } from "../../src/resources/alarms/alarm-types.ts";
import { startBrowser } from "../support/browser.ts";
import { openConsole } from "../support/console-pages.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";
import { checkPages } from "../support/page-sweep.ts";

const { describe, it } = externalProgram("chromium");

/** The clock of the machine; what is due in the background, such as the next try of a plugin, can be held back. */
function holdingClock(): { clock: Clock; hold(): void; goOn(): void } {
  let held: Set<() => void> | null = null;
  const after: Clock["after"] = (delayMs, fn, options) => {
    const due = (): void => void (held && options?.background ? held.add(fn) : fn());
    const timer = systemClock.after(delayMs, due, options);
    return {
      cancel() {
        timer.cancel();
        held?.delete(fn);
      },
    };
  };
  return {
    clock: { ...systemClock, after },
    hold() {
      held = new Set();
    },
    goOn() {
      const late = held ?? [];
      held = null;
      for (const fn of late) fn();
    },
  };
}

describe("the System page", () => {
  /** Holds the port that the phones' plugin is told to listen on, so that it can't start. */
  const occupant = createServer();
  const tries = holdingClock();
  let daemon: TestDaemon;
  let browser: Browser;

  beforeAll(async () => {
    await new Promise<void>((resolve) => occupant.listen(0, "127.0.0.1", resolve));
    const { port } = occupant.address() as AddressInfo;
    daemon = await startTestDaemon({
      clock: tries.clock,
      settings: `network: {allowedTargets: [127.0.0.0/8], multicastInterface: 127.0.0.1}
plugins: {ip-phones: {listen: {auth: {port: ${port}}}}}
`,
    });
    browser = await startBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    await daemon?.stop();
    occupant.close();
  });

  it("shows why a plugin fails and when it is retried, stops retrying, and starts it again by hand", async () => {
    const { page, open, axe, errors } = await openConsole(browser, daemon.url);
    await open("/system");
    const phones = page.locator(".plugin", { hasText: "ip-phones" });
    await phones.getByText("Failed").first().waitFor();
    await phones.getByText(/Failed 5 times within 10 minutes/).waitFor();
    await page.locator("header").getByText("Critical").waitFor();
    expect(await axe()).toEqual([]);
    await phones.getByRole("button", { name: "Settings, log, history" }).click();
    await page.getByRole("tab", { name: "History" }).click();
    await page.locator("[role=dialog]").getByText("Failed").nth(1).waitFor();
    await page.getByRole("tab", { name: "Log" }).click();
    await page.locator(".log").getByText("plugin failed").first().waitFor();
    // What stands between two tries would be gone in a second.
    tries.hold();
    await page.locator("[role=dialog]").getByRole("button", { name: "Restart ip-phones" }).click();
    await page.getByText("Restarted: ip-phones").waitFor();
    await phones.getByText(/Failed: uncaught exception: .*EADDRINUSE.* Next attempt in \d+ s/).waitFor();
    await new Promise((closed) => occupant.close(closed));
    tries.goOn();
    await page.locator("[role=dialog]").getByText("Running").waitFor();
    // The log follows by itself.
    await page.locator(".log").getByText("plugin started").waitFor();
    await page.getByRole("radio", { name: "Warnings and errors" }).check();
    await page.locator(".log").getByText("plugin started").waitFor({ state: "detached" });
    await page.locator(".log").getByText("plugin failed").first().waitFor();
    await page.getByRole("tab", { name: "History" }).click();
    await page.getByText("Restarted manually").waitFor();
    await page.keyboard.press("Escape");
    await page.locator("header").getByText("System OK").waitFor();
    expect(errors).toEqual([]);
  });

  it("keeps a plugin's secret out of the page and says what does not fit at its field", async () => {
    const { page, open } = await openConsole(browser, daemon.url);
    await open("/system");
    await page.getByRole("button", { name: /^ip-phones/ }).click();
    await page.getByRole("textbox", { name: "Push user" }).fill("carillon");
    await page.getByRole("textbox", { name: "Push password" }).fill("hunter22-hunter22");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved.").waitFor();
    await open("/system");
    await page.getByRole("button", { name: /^ip-phones/ }).click();
    const user = page.getByRole("textbox", { name: "Push user" });
    await expect.poll(() => user.inputValue()).toBe("carillon");
    expect(await page.getByRole("textbox", { name: "Push password" }).inputValue()).toBe("");
    expect(await page.content()).not.toContain("hunter22");
  });

  it("sets up the recipients of an alarm with one click, and mutes part of it after showing what that hides", async () => {
    const { page, open, errors } = await openConsole(browser, daemon.url);
    await open("/alarms");
    await page.getByRole("button", { name: "Server severely degraded" }).click();
    const sheet = page.locator("[role=dialog]").first();
    await sheet.getByRole("tab", { name: "Messages" }).click();
    await sheet.getByText("No one is notified yet.").waitFor();
    await sheet.getByRole("button", { name: "Notify administrators" }).click();
    await sheet.getByText("When it is resolved").waitFor();
    await sheet.getByText("When it becomes active").waitFor();
    await sheet.getByRole("button", { name: "Notify administrators" }).waitFor({ state: "detached" });
    await sheet.getByRole("tab", { name: "Muting" }).click();
    await sheet.getByRole("button", { name: "Mute messages" }).click();
    await page.getByRole("textbox", { name: "Reason" }).fill("disk");
    await page.getByText(/In the last 30 days: 0 events, 0 messages muted/).waitFor();
    await page.getByRole("button", { name: "Save" }).click();
    await sheet.getByText("Reasons containing “disk”").waitFor();
    await sheet.getByRole("tab", { name: "Now" }).click();
    await sheet.getByRole("switch", { name: "Mute messages of this alarm" }).click();
    await page.getByText("Muted").waitFor();
    const alarm = await daemon.call("GET", `/alarms/${ALARM_IDS.onprem_server_red}?includeActions=true`);
    expect(alarm.body).toMatchObject({ muted: true, alarmActionIds: [expect.any(String), expect.any(String)] });
    expect(errors).toEqual([]);
  });

  it("says of an active alarm who sees to it, in its sheet, in the list and on the first page", async () => {
    const { body } = await daemon.call<{ userId: string }>("GET", "/session");
    const expires = new Date(Date.now() + 86_400_000).toISOString();
    await daemon.call("POST", `/users/${body.userId}/tokens`, { name: "Timetable", expires });
    const { page, open, axe, errors } = await openConsole(browser, daemon.url);
    await open(`/alarms?open=${ALARM_IDS.token_expiration}`);
    const sheet = page.getByRole("dialog");
    await sheet.getByRole("textbox", { name: "Note" }).fill("A new one is on its way");
    await sheet.getByRole("button", { name: "Acknowledge" }).click();
    await sheet.getByText("Acknowledged", { exact: true }).waitFor();
    await sheet.getByText("A new one is on its way").waitFor();
    expect(await axe()).toEqual([]);
    await open("/alarms");
    await page.getByRole("main").getByText("Acknowledged", { exact: true }).waitFor();
    await open("/");
    await page
      .getByRole("list", { name: "Open alarms" })
      .getByText(/Acknowledged by /)
      .waitFor();
    expect(errors).toEqual([]);
  });

  it("has no findings of axe, the browser or the content security policy, in light, in dark and on a phone", async () => {
    const { id } = (
      await daemon.call<{ data: { id: string; name: string }[] }>("GET", "/extensions?limit=100")
    ).body.data.find(({ name }) => name === "ip-phones") as { id: string };
    const swept = [{ path: `/system?open=${id}`, tabs: ["Log", "History"] }];
    swept.push({ path: `/alarms?open=${ALARM_IDS.speakers_unregistered}`, tabs: ["History", "Messages", "Muting"] });
    expect(await checkPages(browser, daemon.url, swept)).toEqual([]);
  });
});
