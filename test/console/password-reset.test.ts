import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { openTestMailServer, type TestMailServer } from "../plugins/mail-server.ts";
import { newConsolePage, startBrowser } from "../support/browser.ts";
import { startTestDaemon, TEST_ADMIN, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";

const { describe, it } = externalProgram("chromium");

describe("a forgotten password", () => {
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

  it("is replaced with a mailed link, once there is a mail server", async () => {
    const { page, errors } = await newConsolePage(browser, daemon.url);
    await page.goto(daemon.url);
    await page.getByLabel("E-mail").waitFor();
    expect(await page.getByText("Forgotten your password?").count()).toBe(0);

    const { body } = await daemon.call<{ data: { id: string; name: string }[] }>("GET", "/extensions?type=device");
    const email = body.data.find(({ name }) => name === "email");
    const config = { host: "127.0.0.1", port: server.port, security: "none", from: "bells@example.org" };
    expect((await daemon.call("PUT", `/extensions/${email?.id}`, { config, disabled: false })).status).toBe(200);
    const offers = async () => (await (await fetch(`${daemon.url}/api/setup`)).json()) as object;
    await expect.poll(offers).toMatchObject({ mailsPasswordLinks: true });

    await page.reload();
    await page.getByText("Forgotten your password?").click();
    await page.getByLabel("E-mail").fill(TEST_ADMIN.email);
    await page.getByRole("button", { name: "Send the link" }).click();
    await page.getByText("a link is on its way").waitFor();
    await server.came(1);
    const link = /https?:\/\/\S+\/reset-password#[0-9a-f]+/.exec(server.mails[0]?.text ?? "")?.[0] ?? "";
    expect(link.startsWith(daemon.url)).toBe(true);

    await page.goto("about:blank");
    await page.goto(link);
    await page.getByLabel("New password").fill("Passw0rd1234");
    await page.getByRole("button", { name: "Set the password" }).click();
    await page.getByText("too easy to guess").first().waitFor();
    await page.getByLabel("New password").fill("tangerine lamp six");
    await page.getByRole("button", { name: "Set the password" }).click();
    await page.getByText("Your password is set.").waitFor();
    await server.came(2);
    expect(server.mails[1]?.subject).toBe("Your password was changed");

    await page.getByRole("button", { name: "Back to log-in" }).click();
    await page.getByLabel("E-mail").fill(TEST_ADMIN.email);
    await page.getByLabel("Password").fill("tangerine lamp six");
    await page.getByRole("button", { name: "Log in", exact: true }).click();
    await page.getByRole("button", { name: "Your account" }).waitFor();

    const ann = await daemon.call<{ id: string }>("POST", "/users", { name: "Ann", email: "ann@example.org" });
    await page.goto(`${daemon.url}/people?open=${ann.body.id}`);
    await page.getByText("Set password").first().click();
    await page.getByRole("button", { name: "Mail a link" }).click();
    await page.getByText("The link is on its way.").waitFor();
    await server.came(3);
    expect(server.mails[2]).toMatchObject({ subject: "Set your password", envelope: { to: ["ann@example.org"] } });

    await page.goto("about:blank");
    await page.goto(link);
    await page.getByLabel("New password").fill("another lamp six");
    await page.getByRole("button", { name: "Set the password" }).click();
    await page.getByText("The link has expired or was used.").waitFor();
    // The refused password and the used link.
    expect(errors.filter((error) => !/\b40[01]\b/.test(error))).toEqual([]);
  });
});
