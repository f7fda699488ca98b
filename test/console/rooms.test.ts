import { gzipSync } from "node:zlib";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { newConsolePage, startBrowser } from "../support/browser.ts";
import { CONSOLE_PAGES, logIn, openConsole } from "../support/console-pages.ts";
import { startTestDaemon, TEST_ADMIN, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";
import { checkPages } from "../support/page-sweep.ts";
import { wavFile } from "../support/wav-file.ts";

const { describe, it } = externalProgram("chromium");

/** Two minutes of silence: long enough to be stopped. */
const LONG_WAV = wavFile({ rateHz: 8_000, channels: 1, bits: 16 }, Buffer.alloc(120 * 16_000));

describe("the console", () => {
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

  const loggedIn = () => openConsole(browser, daemon.url);

  it("lets in who knows the password, and out again", async () => {
    const { page, open, axe, errors } = await newConsolePage(browser, daemon.url);
    await open("/");
    expect(await axe()).toEqual([]);
    await page.fill("input[type=email]", TEST_ADMIN.email);
    await page.fill("input[type=password]", "wrong");
    await page.click("button[type=submit]");
    await page.waitForSelector("text=password is wrong");
    await page.fill("input[type=password]", TEST_ADMIN.password);
    await page.click("button[type=submit]");
    await page.getByRole("button", { name: "Your account" }).click();
    await page.getByRole("button", { name: "Log out" }).click();
    await page.waitForSelector("input[type=password]");
    expect(errors.filter((fault) => !fault.includes("401"))).toEqual([]);
  });

  it("opens every page without a fault that axe, the browser or the policy knows, in light, in dark and on a phone", async () => {
    const swept = CONSOLE_PAGES.map((path) => ({ path }));
    expect(await checkPages(browser, daemon.url, swept)).toEqual([]);
  }, 600_000);

  it("brings its first page in at most 200 kB of packed scripts and styles", async () => {
    const { page, open } = await loggedIn();
    const files = new Set<string>();
    page.on("response", (response) => {
      if (/\.(js|css)$/.test(response.url())) files.add(response.url());
    });
    await open("/");
    // Asked for anew: the browser forgets what it got for a page that it has left meanwhile.
    const packed = await Promise.all(
      [...files].map(async (address) => gzipSync(await (await page.request.get(address)).body()).length),
    );
    console.log(`first page: ${Math.round(packed.reduce((sum, bytes) => sum + bytes, 0) / 1_000)} kB packed`);
    expect(packed.length).toBeGreaterThan(1);
    expect(packed.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(200_000);
  });

  it("sends a drill once on a double click, shows it on every page, and stops it with one click", async () => {
    const { page, open, axe, errors } = await loggedIn();
    await open("/welcome");
    await page.getByLabel("Name").fill("Hall");
    await page.getByLabel("Multicast address").fill("239.255.77.7");
    await page.getByRole("button", { name: "Add device" }).click();
    await page.waitForSelector("text=Added: Hall");
    await open("/device-groups?open=new");
    await page.getByLabel("Name").fill("Everything");
    await page.getByRole("combobox", { name: "Rule" }).click();
    await page.getByRole("option", { name: "All devices" }).click();
    await page.waitForSelector("[aria-live=polite] >> text=Hall");
    await page.getByRole("button", { name: "Save" }).click();
    await page.waitForSelector("text=Saved.");
    await open("/send");
    await page.getByRole("radio", { name: "DRILL" }).check();
    await page.getByLabel("Subject").fill("Fire drill");
    await page.getByRole("combobox", { name: "Device groups" }).click();
    await page.getByRole("option", { name: "Everything" }).click();
    await page.keyboard.press("Escape");
    await page.setInputFiles("#recording", { name: "a.wav", mimeType: "audio/wav", buffer: LONG_WAV });
    await page.getByRole("button", { name: "Start drill" }).dblclick();
    await page.waitForURL(/broadcasts\/./);
    await page.waitForSelector("h1 >> text=Fire drill");
    expect(await axe()).toEqual([]);
    await page.click("nav >> text=People");
    const strip = page.waitForSelector(".strip.drill >> text=DRILL");
    await strip.catch(async (error: Error) => {
      const told = await daemon.call("GET", "/notifications?draft=false");
      throw new Error(`${error.message}: the API says ${JSON.stringify(told.body)}`);
    });
    await page.locator(".strip").getByRole("button", { name: "Stop Fire drill" }).click();
    await page.waitForSelector("text=Stopped: Fire drill");
    await page.waitForSelector(".strip", { state: "detached" });
    const sent = await daemon.call<{ total: number }>("GET", "/notifications?draft=false");
    expect(sent.body.total).toBe(1);
    expect(errors).toEqual([]);
  });

  it("asks once more before it sends live", async () => {
    const { page, open, axe } = await loggedIn();
    await open("/send");
    await page.getByLabel("Subject").fill("Lockdown");
    await page.getByRole("combobox", { name: "Device groups" }).click();
    await page.getByRole("option").first().click();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Send live" }).click();
    await page.waitForSelector("text=This is not a drill.");
    expect(await axe()).toEqual([]);
    await page.getByRole("button", { name: "Cancel" }).click();
    const sent = await daemon.call<{ total: number }>("GET", "/notifications?draft=false&subject=Lockdown");
    expect(sent.body.total).toBe(0);
  });

  it("shows changes of other users without a reload", async () => {
    const { page, open } = await loggedIn();
    await open("/lists");
    await daemon.call("POST", "/distribution-lists", { name: "Choir" });
    await page.waitForSelector("text=Choir");
    await page.getByRole("searchbox").fill("nobody");
    await page.waitForSelector("text=No results.");
    await page.getByRole("searchbox").fill("cho");
    await page.waitForSelector("text=Choir");
  });

  it("asks who one is when the session has ended elsewhere", async () => {
    const { page, open } = await newConsolePage(browser, daemon.url);
    await logIn({ page, open });
    await open("/devices");
    await page.evaluate("fetch('/api/v1/session', {method: 'DELETE', headers: {'X-Carillon-Console': '1'}})");
    await page.waitForSelector("input[type=password]");
  });

  it("works by keyboard alone: from the navigation to a new list", async () => {
    const { page, open, idle } = await loggedIn();
    await open("/lists");
    await page.keyboard.press("Control+k");
    await page.waitForSelector("[role=combobox]:focus");
    await page.keyboard.type("people");
    await page.keyboard.press("Enter");
    await page.waitForURL(/people/);
    await page.waitForSelector("[role=combobox]", { state: "detached" });
    // The tabs of the section are drawn with its page, whose code is loaded first.
    await idle();
    await page.getByRole("link", { name: "Lists" }).press("Enter");
    await page.waitForURL(/lists/);
    await page.getByRole("button", { name: "New list" }).focus();
    await page.keyboard.press("Enter");
    await page.waitForSelector("input:focus");
    await page.keyboard.type("Night shift");
    await page.keyboard.press("Enter");
    await page.waitForSelector("text=Saved.");
    await page.waitForSelector("[role=cell] >> text=Night shift");
  });

  it("greys what it shows when the connection is lost, and returns by itself", async () => {
    const { page, open, axe } = await newConsolePage(browser, daemon.url, { shortTimeouts: true });
    let cut = false;
    const ends: (() => Promise<void>)[] = [];
    await page.routeWebSocket(/\/api\/live/, (socket) => {
      if (cut) return void socket.close();
      socket.connectToServer();
      ends.push(() => socket.close());
    });
    await logIn({ page, open });
    await page.waitForSelector("main:not(.stale)");
    cut = true;
    for (const end of ends) await end();
    await page.waitForSelector("text=Connection lost");
    await page.waitForSelector("main.stale");
    expect((await axe()).filter((fault) => !fault.startsWith("color-contrast"))).toEqual([]);
    cut = false;
    await page.waitForSelector("main:not(.stale)");
    await page.waitForSelector("text=Connection lost", { state: "detached" });
  });
});
