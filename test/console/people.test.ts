import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { openConsole } from "../support/console-pages.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";
import { checkPages } from "../support/page-sweep.ts";

const { describe, it } = externalProgram("chromium");

const NAMES = ["Anna Adler", "Anna Brandt", "Ben Conrad", "Clara Dietz"];

describe("people in the console", () => {
  let daemon: TestDaemon;
  let browser: Browser;
  const ids = new Map<string, string>();

  beforeAll(async () => {
    daemon = await startTestDaemon();
    for (const name of NAMES) {
      const email = `${name.replace(" ", ".").toLowerCase()}@example.org`;
      ids.set(name, await make("/users", { name, email }));
    }
    ids.set("Teachers", await make("/distribution-lists", { name: "Teachers" }));
    ids.set("Office", await make("/security-groups", { name: "Office" }));
    browser = await startBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    await daemon?.stop();
  });

  async function make(path: string, body: object): Promise<string> {
    const answer = await daemon.call<{ id: string }>("POST", path, body);
    expect(answer.status).toBe(200);
    return answer.body.id;
  }

  async function list<T = Record<string, unknown>>(path: string): Promise<T[]> {
    return (await daemon.call<{ data: T[] }>("GET", path)).body.data;
  }

  it("puts everybody found on a list, one with a last day, others by address, and takes one off and back", async () => {
    const members = `/distribution-lists/${ids.get("Teachers")}/user-subscriptions`;
    const { page, open, axe, errors } = await openConsole(browser, daemon.url);
    await open(`/lists?open=${ids.get("Teachers")}`);
    await page.getByRole("tab", { name: "Members" }).click();
    await page.getByText("No members yet").waitFor();
    await page.getByRole("searchbox", { name: "Search people" }).fill("anna");
    await page.getByRole("button", { name: "Add Anna Adler" }).waitFor();
    await page.getByRole("button", { name: "Add all results" }).click();
    await page.getByText("2 people added.").waitFor();
    await page.getByLabel("Last day of Anna Brandt").fill("2030-05-31");
    await page.getByLabel("Last day of Anna Brandt").blur();
    await page.getByText("Saved.").waitFor();
    expect(await axe()).toEqual([]);
    await page.getByRole("searchbox", { name: "Search people" }).fill("");
    await page.getByText("Add several by e-mail address").click();
    await page.getByLabel("E-mail addresses").fill("Ben.Conrad@example.org; nobody@example.org");
    await page.getByRole("button", { name: "Add 2 people" }).click();
    await page.getByText("1 address is unknown").waitFor();
    await page.getByRole("button", { name: "Remove Ben Conrad" }).click();
    await page.getByRole("button", { name: "Undo" }).waitFor();
    await page.getByRole("button", { name: "Remove Ben Conrad" }).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByRole("button", { name: "Remove Ben Conrad" }).waitFor();
    const rows = await list<{ user: { name: string }; subscriptionEndDate: string | null }>(members);
    expect(rows.map(({ user }) => user.name).sort()).toEqual(["Anna Adler", "Anna Brandt", "Ben Conrad"]);
    const end = rows.find(({ user }) => user.name === "Anna Brandt")?.subscriptionEndDate;
    expect(end).toBe(new Date("2030-06-01T00:00").toISOString());
    expect(errors).toEqual([]);
  });

  it("opens a list for joining and shows the link", async () => {
    const { page, open, idle, errors } = await openConsole(browser, daemon.url);
    const save = async (): Promise<number> => {
      const answer = page.waitForResponse((each) => each.request().method() === "PUT");
      await page.getByRole("button", { name: "Save" }).click();
      return (await answer).status();
    };
    await open(`/lists?open=${ids.get("Teachers")}`);
    await page.getByRole("tab", { name: "Self-enrolment" }).click();
    await page.getByLabel("Welcome message").fill("Good to have you.");
    await page.getByLabel("Days of membership").fill("30");
    expect(await save()).toBe(200);
    const link = page.getByLabel("Enrolment link");
    await expect.poll(() => link.inputValue()).toContain(`/join/${ids.get("Teachers")}`);
    await idle();
    // The field takes no more than ten years.
    await page.getByLabel("Days of membership").fill("9999");
    expect(await save()).toBe(200);
    const { body } = await daemon.call<{ campaign: object }>("GET", `/distribution-lists/${ids.get("Teachers")}`);
    const campaign = { welcomeMessage: "Good to have you.", defaultNotificationDays: 3_650, enrollmentEndDate: null };
    expect(body.campaign).toMatchObject(campaign);
    expect(errors).toEqual([]);
  });

  it("adds a device, switches it off, and removes it unless that is undone", async () => {
    const path = `/users/${ids.get("Clara Dietz")}/devices`;
    const { page, open, errors } = await openConsole(browser, daemon.url);
    await open(`/people?open=${ids.get("Clara Dietz")}`);
    await page.getByRole("tab", { name: "Devices" }).click();
    await page.getByRole("combobox", { name: "Channel" }).click();
    await page.getByRole("option", { name: "Text message" }).click();
    await page.getByLabel("Mobile number").fill("+49170123456");
    await page.getByLabel("Name").fill("Clara's mobile");
    await page.getByRole("button", { name: "Add a device" }).click();
    await page.getByText("Device added.").waitFor();
    await page.getByRole("switch", { name: "Send to Clara's mobile" }).press("Space");
    await expect.poll(() => list(path)).toMatchObject([{ type: "SMS", disabled: true, name: "Clara's mobile" }]);
    const remove = page.getByRole("button", { name: "Remove: Clara's mobile" });
    await remove.click();
    await page.getByText("Clara's mobile will be removed in ten seconds.").waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await remove.and(page.locator(":enabled")).waitFor();
    expect(await list(path)).toHaveLength(1);
    await remove.click();
    await page.locator("li.leaving").waitFor();
    // Whoever leaves the page has made up their mind.
    await page.goto("about:blank");
    await expect.poll(() => list(path)).toEqual([]);
    expect(errors).toEqual([]);
  });

  it("marks tokens that never expire, and ends all access of a person at once", async () => {
    const id = ids.get("Clara Dietz") as string;
    const { body } = await daemon.call<{ token: string }>("POST", `/users/${id}/tokens`, {
      name: "Old",
      expires: null,
    });
    const { page, open, errors } = await openConsole(browser, daemon.url, { shortTimeouts: true });
    await open(`/people?open=${id}`);
    await page.getByRole("tab", { name: "API tokens" }).click();
    await page.getByRole("listitem").filter({ hasText: "never expires" }).waitFor();
    await page.getByRole("button", { name: "End all access" }).click();
    await page.getByText("end at once").waitFor();
    await page.getByRole("dialog", { name: "End all access" }).getByRole("button", { name: "End all access" }).click();
    await page.getByText("All access ended.").waitFor();
    expect((await daemon.call("GET", "/session", undefined, body.token)).status).toBe(401);
    await page.getByText("No tokens yet.").waitFor();
    expect(errors).toEqual([]);
  });

  it("shows a new token once, which works until it is revoked", async () => {
    const { page, open, axe, errors } = await openConsole(browser, daemon.url, { shortTimeouts: true });
    await open(`/people?open=${ids.get("Clara Dietz")}`);
    await page.getByRole("tab", { name: "API tokens" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("Timetable");
    await page.getByRole("button", { name: "Create token" }).click();
    const shown = page.getByRole("textbox", { name: "Token" });
    await expect.poll(() => shown.inputValue()).toMatch(/^carillon_/);
    const value = await shown.inputValue();
    expect(await axe()).toEqual([]);
    await page.getByRole("button", { name: "Copy" }).click();
    await page.getByText("Copied.").waitFor();
    const session = () => daemon.call<{ name: string }>("GET", "/session", undefined, value);
    expect((await session()).body.name).toBe("Clara Dietz");
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("textbox", { name: "Token" }).waitFor({ state: "detached" });
    expect(await page.content()).not.toContain(value);
    await page.getByRole("button", { name: "Revoke: Timetable" }).click();
    await page.getByText("Timetable will be removed in ten seconds.").waitFor();
    expect((await session()).status).toBe(200);
    await expect.poll(async () => (await session()).status).toBe(401);
    await page.getByText("Timetable", { exact: true }).waitFor({ state: "detached" });
    expect(errors).toEqual([]);
  });

  it("locks a user at once, and unlocks the user", async () => {
    const { page, open } = await openConsole(browser, daemon.url);
    await open(`/people?open=${ids.get("Clara Dietz")}`);
    const isLocked = async () =>
      (await daemon.call<{ isLocked: boolean }>("GET", `/users/${ids.get("Clara Dietz")}`)).body.isLocked;
    await page.getByRole("button", { name: "Lock", exact: true }).click();
    await expect.poll(isLocked).toBe(true);
    await page.getByRole("button", { name: "Undo" }).click();
    await expect.poll(isLocked).toBe(false);
  });

  it("gives a group permissions as sentences, takes one back, and puts a member in, by keys alone", async () => {
    const { page, open, errors } = await openConsole(browser, daemon.url);
    await open(`/security-groups?open=${ids.get("Office")}`);
    const path = `/security-groups/${ids.get("Office")}/permissions`;
    await page.getByRole("tab", { name: "Details" }).focus();
    for (const name of ["Members", "Permissions"]) {
      await page.keyboard.press("ArrowRight");
      await page.getByRole("tab", { name, selected: true }).waitFor();
    }
    await page.getByText("No permissions yet").waitFor();
    const choose = async (text: string): Promise<void> => {
      await page.getByRole("combobox", { name: "Permission" }).focus();
      await page.keyboard.type(text);
      await expect.poll(() => page.getByRole("option").count()).toBe(1);
      await page.keyboard.press("ArrowDown");
      await page.locator("[data-combobox-selected]").waitFor();
      await page.keyboard.press("Enter");
      await page.getByRole("option").waitFor({ state: "hidden" });
    };
    await choose("Send messages live");
    await page.getByRole("button", { name: "Grant permission" }).press("Enter");
    await page.getByRole("button", { name: "Revoke: Send messages live" }).waitFor();
    await choose("lists of people");
    await page.getByRole("checkbox", { name: "Change" }).press("Space");
    await page.getByRole("button", { name: "Grant permission" }).press("Enter");
    await page.getByRole("button", { name: "Revoke: Change lists of people" }).waitFor();
    const specs = async () =>
      (await list<{ verb: string; spec: string }>(path)).map(({ verb, spec }) => `${verb} ${spec}`);
    await expect.poll(specs).toEqual(["post /notifications", "get /distribution-lists/*", "put /distribution-lists/*"]);
    await page.getByRole("button", { name: "Revoke: See lists of people" }).press("Enter");
    await expect.poll(specs).toEqual(["post /notifications", "put /distribution-lists/*"]);
    await page.getByRole("tab", { name: "Members" }).press("Enter");
    await page.getByRole("searchbox", { name: "Search people" }).fill("clara");
    await page.getByRole("button", { name: "Add Clara Dietz" }).press("Enter");
    await page.getByRole("button", { name: "Remove Clara Dietz" }).waitFor();
    await open(`/people?open=${ids.get("Clara Dietz")}`);
    await page.getByRole("tab", { name: "Permissions" }).click();
    await page.getByRole("button", { name: "Remove from Office" }).waitFor();
    expect(errors).toEqual([]);
  });

  it("makes an account with its first password and a group's rights, which logs in and sends what it may", async () => {
    const [email, password] = ["dora.ernst@example.org", "correct horse battery"];
    const senders = await make("/security-groups", { name: "Senders" });
    for (const [verb, spec] of [
      ["post", "/notifications"],
      ["get", "/device-groups/*"],
    ]) {
      await make(`/security-groups/${senders}/permissions`, { verb, spec });
    }
    await make("/device-groups", { name: "Everywhere", filterType: "ACCEPT" });
    const { page, open, errors } = await openConsole(browser, daemon.url);
    await open("/people?open=new");
    const sheet = page.getByRole("dialog");
    await sheet.getByRole("textbox", { name: "Name" }).fill("Dora Ernst");
    await sheet.getByRole("textbox", { name: "E-mail" }).fill(email);
    // What is too short is refused before there is an account.
    await sheet.getByLabel("First password").fill("short");
    await sheet.getByRole("button", { name: "Save" }).click();
    await sheet.locator("input:invalid").waitFor();
    expect(await list("/users?q=dora")).toEqual([]);
    await sheet.getByLabel("First password").fill(password);
    await sheet.getByRole("button", { name: "Save" }).click();
    // The next step is there: what the account may do.
    await sheet.getByRole("tab", { name: "Permissions" }).click();
    await sheet.getByRole("combobox", { name: "Add to a group" }).click();
    await page.getByRole("option", { name: "Senders", exact: true }).click();
    await sheet.getByRole("button", { name: "Add", exact: true }).click();
    await sheet.getByRole("button", { name: "Remove from Senders" }).waitFor();
    expect(JSON.stringify(await list("/users?q=dora"))).not.toContain(password);
    expect(errors).toEqual([]);
    const own = await openConsole(browser, daemon.url, {}, { email, password });
    await own.open("/send");
    await own.page.getByRole("radio", { name: "DRILL" }).check();
    await own.page.getByLabel("Subject").fill("Dora speaks");
    await own.page.getByRole("combobox", { name: "Device groups" }).click();
    await own.page.getByRole("option", { name: "Everywhere" }).click();
    await own.page.getByRole("button", { name: "Start drill" }).click();
    const sent = () => list<{ subject: string; initiator: { name: string } }>("/notifications?draft=false");
    await expect.poll(sent).toMatchObject([{ subject: "Dora speaks", initiator: { name: "Dora Ernst" } }]);
  });

  it("marks the address of a person as required, and says so beside the field", async () => {
    const { page, open, errors } = await openConsole(browser, daemon.url, { shortTimeouts: true });
    await open("/people?open=new");
    const sheet = page.getByRole("dialog");
    const email = sheet.getByRole("textbox", { name: "E-mail" });
    await sheet.getByText("People log in with it.").waitFor();
    expect(await email.getAttribute("required")).not.toBeNull();
    await sheet.getByRole("textbox", { name: "Name" }).fill("Emil Funk");
    await sheet.getByRole("button", { name: "Save" }).click();
    await sheet.locator("input:invalid").waitFor();
    // What the browser does not stop, the server explains.
    await page.evaluate('document.querySelector("form").noValidate = true');
    await sheet.getByRole("button", { name: "Save" }).click();
    const explained = "A regular user needs an email address to log in.";
    await sheet.locator(".mantine-InputWrapper-error").filter({ hasText: explained }).waitFor();
    expect(await list("/users?q=emil")).toEqual([]);
    await sheet.getByRole("combobox", { name: "Type" }).click();
    await page.getByRole("option", { name: "Anonymous" }).click();
    expect(await email.getAttribute("required")).toBeNull();
    await sheet.getByRole("button", { name: "Save" }).click();
    await expect.poll(() => list("/users?q=emil")).toMatchObject([{ type: "anonymous", email: null }]);
    expect(errors.filter((each) => !each.includes("400"))).toEqual([]);
  });

  it("copies a group with its permissions and opens the copy", async () => {
    const { page, open } = await openConsole(browser, daemon.url);
    await open(`/security-groups?open=${ids.get("Office")}`);
    await page.getByRole("button", { name: "Duplicate group" }).click();
    await page.getByText("Copied as Office (Copy).").waitFor();
    await page.getByRole("heading", { name: "Office (Copy)" }).waitFor();
  });

  it("has no findings of axe, the browser or the content security policy, in light, in dark and on a phone", async () => {
    const swept = [
      { path: `/people?open=${ids.get("Anna Adler")}`, tabs: ["Lists", "Devices", "API tokens", "Permissions"] },
      { path: `/lists?open=${ids.get("Teachers")}`, tabs: ["Members", "Self-enrolment"] },
      { path: `/security-groups?open=${ids.get("Office")}`, tabs: ["Members", "Permissions"] },
      { path: "/security-groups?open=new" },
    ];
    expect(await checkPages(browser, daemon.url, swept)).toEqual([]);
  });
});
