import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { openConsole } from "../support/console-pages.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";
import { eventually } from "../support/timeouts.ts";

const { describe, it } = externalProgram("chromium");

describe("a device of a lockdown", () => {
  let daemon: TestDaemon;
  let browser: Browser;

  beforeAll(async () => {
    daemon = await startTestDaemon({});
    browser = await startBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    await daemon?.stop();
  });

  const add = async (path: string, body: object): Promise<string> =>
    (await daemon.call<{ id: string }>("POST", path, body)).body.id;

  it("is removed only after the console has shown the lockdown, which is critical until it is restored", async () => {
    const group = await add("/device-groups", { name: "Everywhere", filterType: "ACCEPT", filters: [] });
    const lockdown = await add("/message-templates", {
      ...{ name: "Lockdown", subject: "Lock the doors", metadata: { console: { emergency: true } } },
      deviceGroupIds: [group],
    });
    const groupsOfLockdown = async (): Promise<string[]> =>
      (await daemon.call<{ deviceGroupIds: string[] }>("GET", `/message-templates/${lockdown}`)).body.deviceGroupIds;
    const { page, open, errors } = await openConsole(browser, daemon.url);
    const question = page.getByRole("dialog", { name: "“Everywhere” is in use" });

    await open(`/device-groups?open=${group}`);
    await page.getByRole("button", { name: "Remove" }).click();
    await question.getByText("Lockdown").waitFor();
    await question.getByText("then reaches no one").waitFor();
    expect(await question.getByText("Emergency").count()).toBe(1);
    await question.getByRole("button", { name: "Keep it" }).click();
    await question.waitFor({ state: "detached" });
    expect(await groupsOfLockdown()).toEqual([group]);

    await open(`/device-groups?open=${group}`);
    await page.getByRole("button", { name: "Remove" }).click();
    await question.getByRole("button", { name: "Continue anyway" }).click();
    await page.getByText("Everywhere will be removed in ten seconds.").waitFor();
    // Undoing restores the lockdown's recipients.
    await page.getByRole("button", { name: "Undo" }).click();
    expect(await groupsOfLockdown()).toEqual([group]);

    await open(`/device-groups?open=${group}`);
    await page.getByRole("button", { name: "Remove" }).click();
    await question.getByRole("button", { name: "Continue anyway" }).click();
    await page.getByText("Everywhere will be removed in ten seconds.").waitFor();
    // Leaving the page carries the removal out at once.
    await page.goto("about:blank");
    await eventually(async () => expect(await groupsOfLockdown()).toEqual([]));
    await eventually(async () => expect((await fetch(`${daemon.url}/health`)).status).toBe(503));
    await open("/");
    await page.getByRole("button", { name: "Emergency: choose a message" }).click();
    await page.getByText("Not ready: no recipients.").waitFor();

    await daemon.call("PUT", `/message-templates/${lockdown}`, { userIds: [daemon.first.userId] });
    await eventually(async () => expect((await fetch(`${daemon.url}/health`)).status).toBe(200));
    await open("/");
    await page.getByRole("button", { name: "Emergency: choose a message" }).click();
    await page.getByText("1 person").waitFor();
    // Browsers write down every refusal.
    expect(errors.filter((line) => !line.includes("409 (Conflict)"))).toEqual([]);
  });

  it("lists ordinary messages before their group is removed", async () => {
    const group = await add("/device-groups", { name: "Canteen", filterType: "ACCEPT", filters: [] });
    await add("/message-templates", { name: "Lunch", subject: "Lunch is ready", deviceGroupIds: [group] });
    const { page, open, errors } = await openConsole(browser, daemon.url);
    const question = page.getByRole("dialog", { name: "“Canteen” is in use" });

    await open(`/device-groups?open=${group}`);
    await page.getByRole("button", { name: "Remove" }).click();
    await question.getByText("Lunch").waitFor();
    await question.getByText("They remain, but without it.").waitFor();
    await question.getByRole("button", { name: "Continue anyway" }).click();
    await page.getByText("Canteen will be removed in ten seconds.").waitFor();
    await page.goto("about:blank");
    await eventually(async () => {
      expect((await daemon.call("GET", `/device-groups/${group}`)).status).toBe(404);
    });
    expect(errors).toEqual([]);
  });
});
