import { TOTP } from "otpauth";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { openConsole } from "../support/console-pages.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";

const { describe, it } = externalProgram("chromium");

const ANN = { email: "ann@example.org", password: "correct horse battery" };

describe("a second factor", () => {
  let daemon: TestDaemon;
  let browser: Browser;

  beforeAll(async () => {
    daemon = await startTestDaemon();
    browser = await startBrowser();
    const { body } = await daemon.call<{ id: string }>("POST", "/users", { name: "Ann", email: ANN.email });
    await daemon.call("PUT", `/users/${body.id}/password`, { password: ANN.password });
  });

  afterAll(async () => {
    await browser?.close();
    await daemon?.stop();
  });

  it("is set up in the user's account, requested at the next log-in, and removed", async () => {
    const { page, open, idle, axe, errors } = await openConsole(browser, daemon.url, undefined, ANN);
    const button = (name: string) => page.getByRole("button", { name });
    // The own password is changed on the same page.
    const passwordFor = (name: string) =>
      page
        .locator("form")
        .filter({ has: button(name) })
        .locator("input[type=password]");
    const code = () => page.locator("input[autocomplete=one-time-code]");
    await open("/");
    await button("Your account").click();
    await button("Set up authenticator app").click();
    await passwordFor("Set up authenticator app").fill("wrong horse battery");
    await button("Set up authenticator app").click();
    await page.getByText("The password is wrong.").waitFor();
    await passwordFor("Set up authenticator app").fill(ANN.password);
    await button("Set up authenticator app").click();
    await page.getByRole("img", { name: "QR code" }).waitFor();
    expect(await axe()).toEqual([]);
    const secret = (await page.locator("form code").innerText()).replaceAll(" ", "");
    expect(secret).toMatch(/^[A-Z2-7]{32}$/);
    await code().fill("no code");
    await button("Confirm").click();
    await page.getByText("The code is wrong or was used already.").waitFor();
    await code().fill(new TOTP({ secret }).generate());
    await button("Confirm").click();
    await button("I have saved the codes").waitFor();
    const codes = await page.locator("li code").allInnerTexts();
    expect(codes).toHaveLength(10);
    await button("I have saved the codes").click();
    await page.getByText("10 recovery codes left.").waitFor();

    const logIn = async () => {
      await page.locator("input[type=email]").fill(ANN.email);
      await page.locator("input[type=password]").fill(ANN.password);
      await button("Log in").click();
      await page.getByRole("heading", { name: "Confirm your log-in" }).waitFor();
    };
    await button("Log out").click();
    await logIn();
    expect(await axe()).toEqual([]);
    // The page that loads again is not logged in: the right password alone starts no session.
    await page.reload();
    await button("Log in").waitFor();
    await logIn();
    await code().fill("no code");
    await button("Log in").click();
    await page.getByText("The code is wrong or was used already.").waitFor();
    await code().fill(codes[0]?.toLowerCase() ?? "");
    await button("Log in").click();
    await page.getByRole("navigation", { name: "Main navigation" }).waitFor();

    await button("Your account").click();
    await page.getByText("9 recovery codes left.").waitFor();
    await button("Remove all second factors").click();
    await passwordFor("Remove all second factors").fill(ANN.password);
    await button("Remove all second factors").click();
    await button("Set up authenticator app").waitFor();
    await idle();
    // Ann may do nothing else, and the codes were wrong on purpose.
    const expected = /status of (?:400|401|403) .*\/api\//;
    expect(errors.filter((error) => !expected.test(error))).toEqual([]);
  });

  it("is requested by the inbox page, too", async () => {
    const me = await daemon.call<{ data: { id: string }[] }>("GET", `/users?email=${ANN.email}`);
    expect(me.body.data).toHaveLength(1);
    const context = await browser.newContext();
    const inbox = await context.newPage();
    await inbox.goto(`${daemon.url}/inbox/`);
    const post = (path: string, body: object) =>
      inbox.evaluate(
        async ([address, json]) => {
          const headers = { "content-type": "application/json", "x-carillon-console": "1" };
          const response = await fetch(`/api/${address}`, { method: "POST", headers, body: json ?? null });
          return response.status === 204 ? {} : response.json();
        },
        [path, JSON.stringify(body)],
      ) as Promise<Record<string, string>>;
    const own = `v1/users/${me.body.data[0]?.id}`;
    await post("login", ANN);
    const { secret = "" } = await post(`${own}/authenticator-app`, { currentPassword: ANN.password });
    await post(`${own}/authenticator-app/confirmation`, { code: new TOTP({ secret }).generate() });
    await context.clearCookies();
    await inbox.reload();
    await inbox.locator("#email").fill(ANN.email);
    await inbox.locator("#password").fill(ANN.password);
    await inbox.getByRole("button", { name: "Log in" }).click();
    await inbox.locator("#factor").fill("no code");
    await inbox.getByRole("button", { name: "Log in" }).click();
    await inbox.getByText("The code is wrong, was used already").waitFor();
    await inbox.locator("#factor").fill(new TOTP({ secret }).generate({ timestamp: Date.now() + 30_000 }));
    await inbox.getByRole("button", { name: "Log in" }).click();
    await inbox.locator("#factor").waitFor({ state: "detached" });
    await inbox.locator("#email").waitFor({ state: "detached" });
    await context.close();
  });
});
