import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { openTestMailServer, type TestMailServer } from "../plugins/mail-server.ts";
import { newConsolePage, startBrowser } from "../support/browser.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";

const { describe, it } = externalProgram("chromium");

describe("the user's addresses", () => {
  let daemon: TestDaemon;
  let browser: Browser;
  let server: TestMailServer;

  beforeAll(async () => {
    server = await openTestMailServer();
    daemon = await startTestDaemon();
    browser = await startBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    await daemon?.stop();
    await server?.close();
  });

  it("are added in the account sheet, and verified with the code that is sent there", async () => {
    const { body } = await daemon.call<{ data: { id: string; name: string }[] }>("GET", "/extensions?type=device");
    const email = body.data.find(({ name }) => name === "email");
    const config = { host: "127.0.0.1", port: server.port, security: "none", from: "bells@example.org" };
    expect((await daemon.call("PUT", `/extensions/${email?.id}`, { config, disabled: false })).status).toBe(200);
    const ann = await daemon.call<{ id: string }>("POST", "/users", { name: "Ann", email: "ann@example.org" });
    await daemon.call("PUT", `/users/${ann.body.id}/password`, { password: "tangerine lamp six" });

    const { page, errors } = await newConsolePage(browser, daemon.url);
    await page.goto(daemon.url);
    await page.getByLabel("E-mail").fill("ann@example.org");
    await page.getByLabel("Password").fill("tangerine lamp six");
    await page.getByRole("button", { name: "Log in", exact: true }).click();
    await page.getByRole("button", { name: "Your account" }).click();
    await page.getByText("Addresses for messages").click();

    await page.getByLabel("E-mail address").fill("ann.private@example.org");
    await page.getByRole("button", { name: "Add address" }).click();
    await page.getByText("Not verified").waitFor();
    await page.getByRole("button", { name: "Send code" }).click();
    await page.getByText("A code is on its way to ann.private@example.org.").waitFor();
    // The first one says that the password was set.
    await server.came(2);
    const mail = server.mails.find(({ envelope }) => envelope.to.includes("ann.private@example.org"));
    const code = /\b\d{6}\b/.exec(mail?.text ?? "")?.[0] ?? "";

    await page.getByLabel("Code sent to").fill(code === "000000" ? "000001" : "000000");
    await page.getByRole("button", { name: "Verify" }).click();
    await page.getByText("Must be the code that was sent to the address.").first().waitFor();
    await page.getByLabel("Code sent to").fill(code);
    await page.getByRole("button", { name: "Verify" }).click();
    await page.getByText("ann.private@example.org is verified.").waitFor();
    await expect.poll(() => page.getByText("Not verified").count()).toBe(0);
    // The wrong code, and what the person may not read.
    expect(errors.filter((error) => !/\b40[03]\b/.test(error))).toEqual([]);
  });
});
