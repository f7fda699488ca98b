import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { openConsole } from "../support/console-pages.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";
import { checkPages } from "../support/page-sweep.ts";

const { describe, it } = externalProgram("chromium");

describe("permissions in the console", () => {
  /** Takes the calls of webhooks; refuses the first. */
  const calls: string[] = [];
  const receiver = createServer((request, response) => {
    request.resume();
    calls.push(String(request.headers["webhook-id"]));
    response.writeHead(calls.length === 1 ? 500 : 204).end();
  });
  let daemon: TestDaemon;
  let browser: Browser;
  const ids: Record<"anna" | "office" | "north" | "south" | "choir", string> = {
    ...{ anna: "", office: "", north: "", south: "", choir: "" },
  };

  beforeAll(async () => {
    await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
    daemon = await startTestDaemon();
    ids.anna = await make("/users", { name: "Anna Adler", email: "anna@example.org" });
    ids.office = await make("/security-groups", { name: "Office" });
    await make(`/security-groups/${ids.office}/members`, { userId: ids.anna });
    await make(`/security-groups/${ids.office}/permissions`, { verb: "get", spec: "/users/*" });
    ids.choir = await make("/distribution-lists", { name: "Choir of all" });
    browser = await startBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    await daemon?.stop();
    receiver.close();
  });

  async function make(path: string, body: object): Promise<string> {
    const answer = await daemon.call<{ id: string }>("POST", path, body);
    expect(answer.status).toBe(200);
    return answer.body.id;
  }

  it("makes a domain below the root, and then offers the switch of the acting domain on every page", async () => {
    const { page, open, axe, errors } = await openConsole(browser, daemon.url);
    await open("/domains");
    await page.getByRole("button", { name: "New domain" }).waitFor();
    expect(await page.getByRole("combobox", { name: "Acting domain" }).count()).toBe(0);
    for (const name of ["North", "South"]) {
      await page.getByRole("button", { name: "New domain" }).click();
      await page.getByLabel("Name").fill(name);
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByRole("button", { name, exact: true }).waitFor();
    }
    const { data } = (await daemon.call<{ data: { id: string; name: string }[] }>("GET", "/domains")).body;
    ids.north = data.find(({ name }) => name === "North")?.id ?? "";
    ids.south = data.find(({ name }) => name === "South")?.id ?? "";
    await open("/");
    await page.getByRole("combobox", { name: "Acting domain" }).waitFor();
    expect(await axe()).toEqual([]);
    expect(errors).toEqual([]);
  });

  it("limits pages, live updates and writes to the acting domain, and keeps it after a reload", async () => {
    const { page, open, errors } = await openConsole(browser, daemon.url);
    await open("/lists");
    await page.getByText("Choir of all").waitFor();
    const requested = page.waitForRequest(
      (request) => request.url().includes("/distribution-lists") && request.headers()["x-service-domain"] === ids.north,
    );
    const followed = page.waitForEvent("websocket", (socket) => socket.url().includes(`domain=${ids.north}`));
    await page.getByRole("combobox", { name: "Acting domain" }).selectOption({ label: "\u2003North" });
    await Promise.all([requested, followed]);
    await page.getByText("Choir of all").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "New list" }).first().click();
    await page.getByLabel("Name").fill("Choir of the north");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("cell", { name: "Choir of the north" }).waitFor();
    await daemon.call("POST", `/distribution-lists?domain=${ids.north}`, { name: "Band of the north" });
    await page.getByText("Band of the north").waitFor();
    await open("/lists");
    await page.getByText("Choir of the north").waitFor();
    expect(await page.getByText("Choir of all").count()).toBe(0);
    const inSouth = await daemon.call<{ data: { name: string }[] }>("GET", `/distribution-lists?domain=${ids.south}`);
    expect(inSouth.body.data).toEqual([]);
    expect(errors).toEqual([]);
  });

  it("puts a list into a domain and moves it to another", async () => {
    const { page, open, errors } = await openConsole(browser, daemon.url);
    await open(`/domains?open=${ids.north}`);
    await page.getByRole("tab", { name: "Contents" }).click();
    await page.getByRole("combobox", { name: "Type" }).click();
    await page.getByRole("option", { name: "lists of people" }).click();
    await page.getByRole("combobox", { name: "Add to this domain" }).fill("Choir of all");
    await page.getByRole("option", { name: "Choir of all" }).click();
    await page.getByRole("button", { name: "Add", exact: true }).click();
    // It is in the root, which the domain below must replace.
    await page.getByRole("button", { name: "Replace" }).click();
    await page.getByRole("cell", { name: "Choir of all", exact: true }).waitFor();
    await page.getByRole("combobox", { name: "Move Choir of all" }).click();
    await page.getByRole("listbox").getByRole("option", { name: "South" }).click();
    const places = async () =>
      (
        await daemon.call<{ data: { name: string }[] }>("GET", `/distribution-lists/${ids.choir}/domains`)
      ).body.data.map(({ name }) => name);
    await expect.poll(places).toEqual(["South"]);
    expect(errors.filter((fault) => !fault.includes("400"))).toEqual([]);
  });

  it("explains why a user has a permission or not, and grants it", async () => {
    const { page, open, axe, errors } = await openConsole(browser, daemon.url);
    await open("/rights");
    await page.getByRole("combobox", { name: "Person" }).fill("anna");
    await page.getByRole("option", { name: "Anna Adler" }).click();
    await page.getByRole("combobox", { name: "Resource" }).click();
    await page.getByRole("option", { name: "people", exact: true }).click();
    await page.getByText("Anna Adler may do this: See people.").waitFor();
    await page.getByText("Group Office: See people.").waitFor();
    await page.getByRole("link", { name: "Open the group Office" }).waitFor();
    expect(await axe()).toEqual([]);
    await page.getByRole("combobox", { name: "Resource" }).click();
    await page.getByRole("option", { name: "Send messages live" }).click();
    await page.getByText("Anna Adler may not do this: Send messages live.").waitFor();
    await page.getByText("No permission covers post /notifications").waitFor();
    // The question stands in the address.
    await page.reload();
    await page.getByText("Anna Adler may not do this: Send messages live.").waitFor();
    await page.getByRole("button", { name: "Grant to Anna Adler only" }).click();
    await page.getByText("Anna Adler may do this: Send messages live.").waitFor();
    await page.getByText("A personal permission: Send messages live.").waitFor();
    expect(errors).toEqual([]);
  });

  it("selects no user by keys pressed before the search has finished", async () => {
    const { page, open } = await openConsole(browser, daemon.url);
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route(/[/]users[?].*q=anna/, async (route) => {
      await answered;
      await route.continue();
    });
    await open("/rights");
    const who = page.getByRole("combobox", { name: "Person" });
    await who.click();
    await page.getByRole("option", { name: "Anna Adler" }).waitFor();
    await who.pressSequentially("anna");
    await who.press("ArrowDown");
    await who.press("Enter");
    await page.getByText("Searching").waitFor();
    answer();
    await page.getByRole("option", { name: "Anna Adler" }).waitFor();
    await who.press("ArrowDown");
    await who.press("Enter");
    await page.waitForURL((url) => url.href.includes(ids.anna));
  });

  it("gives a group a permission within a domain alone, and a template that it is bound to", async () => {
    const template = await make("/message-templates", { name: "Bus is late", subject: "The bus is late" });
    const { page, open, axe, errors } = await openConsole(browser, daemon.url);
    await open(`/security-groups?open=${ids.office}`);
    await page.getByRole("tab", { name: "Permissions" }).click();
    await page.getByRole("combobox", { name: "Permission" }).click();
    await page.getByRole("option", { name: "Send messages live" }).click();
    await page.getByRole("combobox", { name: "Domain", exact: true }).click();
    await page.getByRole("listbox").getByRole("option", { name: "North" }).click();
    await page.getByRole("button", { name: "Grant permission" }).click();
    await page.getByText("only in North").waitFor();
    expect(await axe()).toEqual([]);
    const placed = async () =>
      (
        await daemon.call<{ data: { spec: string; domainId: string | null }[] }>(
          "GET",
          `/security-groups/${ids.office}/permissions`,
        )
      ).body.data
        .filter(({ spec }) => spec === "/notifications")
        .map(({ domainId }) => domainId);
    await expect.poll(placed).toEqual([ids.north]);
    // What is taken back comes back where it was.
    await page.getByRole("button", { name: "Revoke: Send messages live" }).click();
    await expect.poll(placed).toEqual([]);
    await page.getByRole("button", { name: "Undo" }).click();
    await expect.poll(placed).toEqual([ids.north]);

    await page.getByRole("tab", { name: "Templates" }).click();
    await page.getByText("No restriction").waitFor();
    await page.getByRole("combobox", { name: "Allow template" }).fill("bus");
    await page.getByRole("option", { name: "Bus is late" }).click();
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByRole("button", { name: "Disallow Bus is late" }).waitFor();
    const group = await daemon.call("GET", `/security-groups/${ids.office}`);
    expect(group.body).toMatchObject({ allowedMessageTemplateIds: [template] });
    await page.getByRole("button", { name: "Disallow Bus is late" }).click();
    await page.getByText("No restriction").waitFor();
    expect(errors).toEqual([]);
  });

  it("copies a group into domains, and ties it to a group of the directory", async () => {
    const { page, open, axe, errors } = await openConsole(browser, daemon.url);
    await open("/directory-groups?open=new");
    await page.getByLabel("Name").fill("All staff");
    await page.getByLabel("Directory ID").fill("S-1-5");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("button", { name: "All staff" }).click();
    await page.getByRole("tab", { name: "Members" }).click();
    await page.getByRole("searchbox", { name: "Search people" }).fill("anna");
    await page.getByRole("button", { name: "Add Anna Adler" }).click();
    await page.getByRole("button", { name: "Remove Anna Adler" }).waitFor();
    expect(await axe()).toEqual([]);

    await open(`/security-groups?open=${ids.office}`);
    await page.getByRole("tab", { name: "Directory" }).click();
    await page.getByRole("combobox", { name: "Link to a directory group" }).click();
    await page.getByRole("option", { name: "All staff" }).click();
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByRole("link", { name: "All staff" }).waitFor();
    await page.getByText("1 member").waitFor();

    await page.getByRole("tab", { name: "Details" }).click();
    await page.getByRole("combobox", { name: "Copy into domains" }).click();
    for (const name of ["North", "South"]) await page.getByRole("listbox").getByRole("option", { name }).click();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Copy", exact: true }).click();
    await page.getByText("2 copies created.").waitFor();
    for (const domain of [ids.north, ids.south]) {
      const copies = await daemon.call<{ data: { name: string }[] }>("GET", `/domains/${domain}/security-groups`);
      expect(copies.body.data.map(({ name }) => name)).toEqual(["Office"]);
    }
    expect(errors).toEqual([]);
  });

  it("shows the secret of a program once, and makes a new one", async () => {
    const { page, open, errors } = await openConsole(browser, daemon.url);
    await open("/applications?open=new");
    await page.getByLabel("Name").fill("Timetable");
    await page.getByLabel("Redirect URIs").fill("https://timetable.example/back");
    await page.getByRole("button", { name: "Save" }).click();
    const first = await page.getByRole("textbox", { name: "Client secret" }).inputValue();
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("button", { name: "Timetable" }).click();
    await page.getByRole("tab", { name: "Keys" }).click();
    await page.getByLabel("Client ID").waitFor();
    expect(await page.content()).not.toContain(first);
    await page.getByRole("button", { name: "Create new secret" }).click();
    await page.getByRole("button", { name: /Confirm/ }).click();
    const second = await page.getByRole("textbox", { name: "Client secret" }).inputValue();
    expect(second.length).toBeGreaterThan(20);
    expect(second).not.toBe(first);
    expect(errors).toEqual([]);
  });

  it("shows deliveries of a webhook, and sends one again", async () => {
    const { port } = receiver.address() as AddressInfo;
    const { page, open, errors } = await openConsole(browser, daemon.url);
    await open("/webhooks?open=new");
    await page.getByLabel("Name").fill("Directory");
    await page.getByLabel("Path").fill("/confirmation-requests/*");
    await page.getByLabel("Address").fill(`http://127.0.0.1:${port}/hook`);
    await page.getByRole("button", { name: "Save" }).click();
    const key = await page.getByRole("textbox", { name: "Signing key" }).inputValue();
    expect(key).toMatch(/^whsec_/);
    await page.getByRole("button", { name: "Done" }).click();
    await daemon.call("POST", "/confirmation-requests", { name: "Are you well?", options: ["Yes", "No"] });
    await expect.poll(() => calls.length).toBeGreaterThan(0);
    await page.getByRole("button", { name: "Directory" }).click();
    await page.getByRole("tab", { name: "Calls" }).click();
    await page.getByText("HTTP 500").waitFor();
    await page.getByRole("button", { name: "Send again" }).first().click();
    await page.getByText("HTTP 204").waitFor();
    expect(new Set(calls).size).toBe(1);
    expect(errors).toEqual([]);
  });

  it("finds in the audit who changed what, keeps the filters in the address, and says that the record is whole", async () => {
    await daemon.call("PUT", `/security-groups/${ids.office}`, { name: "Front office" });
    const { page, open, axe, errors } = await openConsole(browser, daemon.url);
    await open("/audit");
    await page.getByText("Intact").waitFor();
    await page.getByRole("button", { name: "Changed", exact: true }).click();
    await page.getByRole("combobox", { name: "Resource" }).click();
    await page.getByRole("option", { name: "security groups", exact: true }).click();
    await page.getByRole("button", { name: "Security groups: Front office" }).waitFor();
    await page.waitForURL(/op=update.*resource=security-groups/);
    await page.getByRole("combobox", { name: "User" }).fill("anna");
    await page.getByRole("option", { name: "Anna Adler" }).click();
    await page.getByText("0 entries", { exact: true }).waitFor();
    await page.getByRole("combobox", { name: "User" }).fill("administrator");
    await page.getByRole("option", { name: "Administrator" }).click();
    await page.waitForURL(/user=/);
    await page.reload();
    await page.getByRole("button", { name: "Security groups: Front office" }).click();
    await page.locator("del", { hasText: "Office" }).waitFor();
    await page.locator("ins", { hasText: "Front office" }).waitFor();
    expect(await axe()).toEqual([]);
    expect(errors).toEqual([]);
  });

  it("has no findings of axe, the browser or the content security policy, in light, in dark and on a phone", async () => {
    const swept = [
      { path: `/domains?open=${ids.north}`, tabs: ["Contents"] },
      { path: `/rights?user=${ids.anna}&thing=users` },
      { path: `/security-groups?open=${ids.office}`, tabs: ["Permissions", "Templates", "Directory"] },
      { path: "/directory-groups" },
      { path: "/audit" },
      { path: "/applications?open=new" },
      { path: "/webhooks?open=new" },
    ];
    expect(await checkPages(browser, daemon.url, swept)).toEqual([]);
  });
});
