import { createHash, randomBytes } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { newConsolePage, startBrowser } from "../support/browser.ts";
import { PHONE_SIZE } from "../support/console-pages.ts";
import { startTestDaemon, TEST_ADMIN, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";

const { describe, it } = externalProgram("chromium");

describe("the authorize page, in a browser without scripts", () => {
  let daemon: TestDaemon;
  let browser: Browser;
  let app: Server;
  /** Where the application's own pages lie: one leads to the authorize page, the other takes the code. */
  let appUrl: string;
  let clientId: string;
  const verifier = randomBytes(32).toString("base64url");

  beforeAll(async () => {
    daemon = await startTestDaemon();
    app = createServer((request, response) => {
      const answer = request.url?.startsWith("/back") ? "<h1>Back</h1>" : `<a href="${authorizeUrl()}">Connect</a>`;
      response.setHeader("content-type", "text/html").end(`<!doctype html><title>App</title>${answer}`);
    });
    await new Promise<void>((done) => void app.listen(0, "127.0.0.1", done));
    appUrl = `http://127.0.0.1:${(app.address() as AddressInfo).port}`;
    const json = { name: "Corridor Clocks", type: "public", redirectUris: [`${appUrl}/back`] };
    clientId = (await daemon.call<{ clientId: string }>("POST", "/applications", json)).body.clientId;
    browser = await startBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    await new Promise((done) => app.close(done));
    await daemon?.stop();
  });

  /** What axe, which is a script itself, finds on the page as it is: looked at in another window, which runs scripts. */
  async function audit(page: Page, options: BrowserContextOptions = {}): Promise<string[]> {
    const window = await newConsolePage(browser, daemon.url, options);
    await window.page.setContent(await page.content());
    const found = await window.axe();
    await window.page.context().close();
    return found;
  }

  function authorizeUrl(): string {
    const parameters = new URLSearchParams({
      ...{ response_type: "code", client_id: clientId, redirect_uri: `${appUrl}/back`, state: "s1" },
      code_challenge: createHash("sha256").update(verifier).digest("base64url"),
      ...{ code_challenge_method: "S256", scope: "urn:service:notifications:write offline_access" },
    });
    return `${daemon.url}/api/authorize?${parameters}`;
  }

  it("leads from the application through log-in and consent back to it, with a code that is good", async () => {
    const { page, errors } = await newConsolePage(browser, daemon.url, { javaScriptEnabled: false });
    await page.goto(appUrl);
    await page.getByRole("link", { name: "Connect" }).click();
    await page.waitForSelector("h1:has-text('Log in')");
    expect(await audit(page)).toEqual([]);
    await page.getByLabel("E-mail").fill(TEST_ADMIN.email);
    await page.getByLabel("Password").fill("wrong horse");
    await page.keyboard.press("Enter");
    await page.waitForSelector("[role=alert]");
    expect(await audit(page)).toEqual([]);
    expect(await page.getByLabel("E-mail").inputValue()).toBe(TEST_ADMIN.email);
    await page.getByLabel("Password").fill(TEST_ADMIN.password);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.waitForSelector("h1:has-text('Allow Corridor Clocks?')");
    expect(await audit(page)).toEqual([]);
    expect(await page.getByRole("listitem").allTextContents()).toEqual([
      "create, change and delete notifications",
      "keep access while you are not logged in",
    ]);
    await page.getByRole("button", { name: "Allow", exact: true }).click();
    await page.waitForURL(`${appUrl}/back**`);
    const back = new URL(page.url());
    expect(back.searchParams.get("state")).toBe("s1");
    const form = { grant_type: "authorization_code", client_id: clientId, code_verifier: verifier };
    const response = await fetch(`${daemon.url}/api/token`, {
      method: "POST",
      body: new URLSearchParams({
        ...form,
        code: back.searchParams.get("code") ?? "",
        redirect_uri: `${appUrl}/back`,
      }),
    });
    expect(await response.json()).toMatchObject({ token_type: "Bearer", refresh_token: expect.any(String) });
    // The wrong password is answered 401, which browsers write down.
    expect(errors.filter((fault) => !fault.includes("401"))).toEqual([]);
  });

  it("asks no second time for the password, in German and on a phone, and leads back when it is denied", async () => {
    const phone: BrowserContextOptions = { locale: "de-DE", viewport: PHONE_SIZE, colorScheme: "dark" };
    const { page, open, errors } = await newConsolePage(browser, daemon.url, { ...phone, javaScriptEnabled: false });
    const path = authorizeUrl().slice(daemon.url.length);
    await open(path);
    expect(await audit(page, phone)).toEqual([]);
    await page.getByLabel("E-Mail").fill(TEST_ADMIN.email);
    await page.getByLabel("Passwort").fill(TEST_ADMIN.password);
    await page.getByRole("button", { name: "Anmelden" }).click();
    await page.waitForSelector("h1:has-text('Corridor Clocks erlauben?')");
    await open(path);
    expect(await page.getByLabel("Passwort").count()).toBe(0);
    expect(await audit(page, phone)).toEqual([]);
    const width = await page.locator("html").boundingBox();
    expect(width?.width).toBeLessThanOrEqual(PHONE_SIZE.width);
    await page.getByRole("button", { name: "Nicht erlauben" }).click();
    await page.waitForURL(`${appUrl}/back**`);
    expect(new URL(page.url()).searchParams.get("error")).toBe("access_denied");
    expect(errors).toEqual([]);
  });
});
