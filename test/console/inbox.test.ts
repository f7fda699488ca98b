import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { makeBrowser, openTestWebPushServer, type TestWebPushServer } from "../plugins/web-push-server.ts";
import { newConsolePage, startBrowser, WINDOW_SIZE } from "../support/browser.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";

type Row = Record<string, unknown> & { id: string };

const { describe, it } = externalProgram("chromium");

describe("the page of recipients", () => {
  const ann = makeBrowser("/push/ann");
  let gone = false;
  let service: TestWebPushServer;
  let daemon: TestDaemon;
  let browser: Browser;
  let userId: string;
  let question: string;

  const make = async (path: string, body: object): Promise<string> => {
    const { status, body: row } = await daemon.call<Row>("POST", path, body);
    expect([200, 201], JSON.stringify(row)).toContain(status);
    return row.id;
  };
  const invite = async () =>
    (await daemon.call<{ code: string; url: string }>("POST", `/users/${userId}/invitations`)).body;
  const read = async (path: string) => (await daemon.call<Row>("GET", path)).body;
  const shown = (path: string, members: object) => expect.poll(() => read(path)).toMatchObject(members);

  beforeAll(async () => {
    [service, daemon, browser] = await Promise.all([
      openTestWebPushServer([ann], () => ({ status: gone ? 410 : 201 })),
      startTestDaemon(),
      startBrowser(),
    ]);
    const extensions = await daemon.call<{ data: Row[] }>("GET", "/extensions?type=device");
    const configs = Object.entries({ "web-push": { contact: "mailto:it@example.org" }, desktop: {} });
    const enabled = configs.map(([plugin, config]) => {
      const id = extensions.body.data.find(({ name }) => name === plugin)?.id;
      return daemon.call("PUT", `/extensions/${id}`, { config, disabled: false });
    });
    expect((await Promise.all(enabled)).map(({ status }) => status)).toEqual([200, 200]);
    userId = await make("/users", { name: "Ann Lee", email: "ann-lee@users.example.org" });
    question = await make("/confirmation-requests", { name: "Roll call", options: ["I am safe", "I need help"] });
    const reply = { optionLabel: "I need help", every: "Help is on its way." };
    await make(`/confirmation-requests/${question}/dynamic-replies`, reply);
  });
  afterAll(async () => {
    await browser?.close();
    await daemon?.stop();
    await service?.close();
  });

  it("registers an invited browser, reports what it displayed and answered, and ends an expired subscription", async () => {
    const { code } = await invite();
    const origin = daemon.url;
    const json = { "content-type": "application/json" };
    const accept = { method: "POST", headers: { ...json, origin }, body: JSON.stringify({ code, name: "Phone" }) };
    const accepted = await fetch(`${origin}/api/invitation`, accept);
    expect(accepted.status).toBe(204);
    const setCookie = accepted.headers.get("set-cookie") ?? "";
    expect(setCookie).toMatch(/; Max-Age=34560000$/);
    const asAnn = { ...json, origin, cookie: setCookie.split(";")[0] as string, "x-carillon-console": "1" };
    const own = (path: string, init: RequestInit = {}) =>
      fetch(`${origin}/api/v1/users/${userId}${path}`, { ...init, headers: asAnn });
    const device = { type: "web-push", name: "Phone", deviceIdentifier: service.url(ann.path) };
    const body = JSON.stringify({ ...device, clientIdentifier: ann.clientIdentifier });
    const registered = (await (await own("/devices", { method: "POST", body })).json()) as Row;
    expect(registered).toMatchObject({ disabled: false, disabledReason: null });
    expect((await own("")).status).toBe(200);
    expect((await own("/tokens")).status).toBe(403);
    expect((await fetch(`${origin}/api/v1/users`, { headers: asAnn })).status).toBe(200);

    const message = { subject: "Roll call", userIds: [userId], confirmationRequestId: question };
    const first = await make("/notifications", message);
    const ledger = (id: string) => `/notifications/${id}/devices`;
    await shown(ledger(first), { data: [{ level: "accepted" }] });
    const { receipt } = service.pushed[0]?.payload ?? {};
    const tell = (said: object) =>
      fetch(`${origin}/x/web-push/receipt`, { method: "POST", body: JSON.stringify({ receipt, ...said }) });
    expect((await tell({})).status).toBe(204);
    await shown(ledger(first), { data: [{ level: "playing" }] });
    expect(await (await tell({ option: "I need help" })).json()).toEqual({ reply: "Help is on its way." });
    await shown(ledger(first), { data: [{ level: "confirmed" }] });
    expect(await read(`/notifications/${first}`)).toMatchObject({ confirmationResults: { "I need help": 1 } });

    gone = true;
    const second = await make("/notifications", message);
    await shown(ledger(second), {
      data: [{ level: "failed", reason: expect.stringContaining("subscription has ended") }],
    });
    const path = `/users/${userId}/devices/${registered.id}`;
    await shown(path, { disabled: true, disabledReason: expect.stringContaining("410") });
    await own(`/devices/${registered.id}`, { method: "PUT", body: JSON.stringify({ disabled: false }) });
    expect(await read(path)).toMatchObject({ disabled: false, disabledReason: null });
    await daemon.call("DELETE", path);
  });

  it("opens by an invitation, can be installed, shows messages and takes an answer; as a desktop it is filled, proves it and is cleared", async () => {
    const { url } = await invite();
    const { page, errors, axe, idle } = await newConsolePage(browser, daemon.url, {
      viewport: { width: 380, height: 760 },
      shortTimeouts: true,
    });
    await page.goto(url);
    await page.getByRole("heading", { name: "My messages" }).waitFor();
    await page.waitForURL(`${daemon.url}/inbox/`);
    await page.evaluate("navigator.serviceWorker.ready.then(({ active }) => active.scriptURL)");
    const manifest = await page.request.get(
      await page
        .locator("link[rel=manifest]")
        .getAttribute("href")
        .then((href) => `${daemon.url}${href}`),
    );
    expect(manifest.headers()["content-type"]).toBe("application/manifest+json");
    const { icons } = (await manifest.json()) as { icons: { src: string }[] };
    const pictures = await Promise.all(icons.map(({ src }) => page.request.get(`${daemon.url}${src}`)));
    for (const picture of pictures) expect(picture.headers()["content-type"]).toBe("image/png");
    const subject = "Fire <b>drill</b>";
    const message = { subject, drill: true, userIds: [userId], confirmationRequestId: question };
    const id = await make("/notifications", message);
    await expect
      .poll(async () => {
        await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
        return page.getByRole("article", { name: subject }).count();
      })
      .toBe(1);
    const article = page.getByRole("article", { name: subject });
    await expect.poll(() => article.locator(".drill").textContent()).toBe("Drill");
    await idle();
    expect(await axe()).toEqual([]);
    await article.getByRole("button", { name: "I need help" }).click();
    await article.getByText("Help is on its way.").waitFor();
    await shown(`/notifications/${id}`, { confirmationResults: { "I need help": 1 }, readCount: 1 });
    await page.context().clearCookies();
    await page.setViewportSize(WINDOW_SIZE);
    await fillsDesktop(page, axe);
    expect(errors).toEqual([]);
  });

  it("lets a person decline messages of a template and take it back", async () => {
    const messageTemplateId = await make("/message-templates", {
      ...{ name: "Canteen", subject: "Canteen today", optOut: true, userIds: [userId] },
    });
    const [optOuts, first] = [`/message-templates/${messageTemplateId}/opt-outs`, { messageTemplateId }];
    const id = await make("/notifications", first);
    await shown(`/notifications/${id}/recipients`, { data: [{ declined: false }] });
    const { url } = await invite();
    const { page, errors, axe, idle } = await newConsolePage(browser, daemon.url, {
      viewport: { width: 380, height: 760 },
    });
    await page.goto(url);
    const article = page.getByRole("article", { name: "Canteen today" });
    await article.getByRole("button", { name: "Stop messages of this type" }).click();
    await article.getByText("You no longer receive messages of this type.").waitFor();
    await shown(optOuts, { total: 1, data: [{ userId, holds: true }] });
    const second = await make("/notifications", first);
    await shown(`/notifications/${second}/recipients`, { data: [{ declined: true }] });
    const back = page.getByRole("button", { name: "Receive messages like Canteen today again" });
    await back.waitFor();
    await idle();
    expect(await axe()).toEqual([]);
    await back.click();
    await article.getByRole("button", { name: "Stop messages of this type" }).waitFor();
    await back.waitFor({ state: "detached" });
    await shown(optOuts, { total: 0 });
    expect(errors).toEqual([]);
  });

  /** A desktop that was invited is filled with a message, proves it, and is cleared when it is called off. */
  async function fillsDesktop(page: Page, axe: () => Promise<string[]>): Promise<void> {
    const { code } = await invite();
    await page.goto(`${daemon.url}/desktop/`);
    await page.getByLabel("Invitation code").fill(code.toLowerCase());
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByText("Connected").waitFor();
    const message = { subject: "Lockdown", priority: "critical", userIds: [userId], confirmationRequestId: question };
    const id = await make("/notifications", message);
    const sheet = page.locator(".full.emergency");
    await sheet.getByRole("heading", { name: "Emergency: Lockdown" }).waitFor();
    expect(await axe()).toEqual([]);
    await sheet.getByRole("button", { name: "I am safe" }).click();
    await sheet.getByText("You answered: I am safe").waitFor();
    await shown(`/notifications/${id}/devices`, { data: [{ type: "desktop", level: "confirmed" }] });
    await shown(`/notifications/${id}/activities?type=broadcast-finished`, { total: 1 });
    await daemon.call("POST", `/notifications/${id}/activities`, { type: "abort" });
    await sheet.waitFor({ state: "detached" });
  }
});
