import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { createApiClient } from "../../src/api-client/api-client.ts";
import en from "../../src/console/web/i18n/en.json" with { type: "json" };
import { startBrowser } from "../support/browser.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";
import {
  EMPTY_STATE_TEXTS,
  openStatesWindow,
  routerPaths,
  samplePaths,
  walkPages,
  withRows,
} from "../support/page-states.ts";

const { describe, it } = externalProgram("chromium");

const NOBODY = { email: "nobody@example.org", password: "correct horse battery" };
const PHONE = { width: 390, height: 844 };
/** What pages say that hold nothing. */
const EMPTY_WORDS = [...EMPTY_STATE_TEXTS, en["devices.first"], en["appliances.at-cloud"]];
/** Pages that are no list, and those whose list has rows from the start. */
const NEVER_EMPTY = [
  ...["/welcome", "/branding", "/rights", "/send", "/speak"],
  ...["/alarms", "/audit", "/domains", "/identity-providers", "/people", "/profiles", "/security-groups"],
  ...["/system", "/system-health", "/time-zone-data"],
];
/** Empty pages without a first step: what they tell of comes by itself. */
const STEPLESS = ["/activities", "/link-conflicts"];
/** Buttons and links to do something, beside those that lead elsewhere or narrow a list down. */
const STEPS = "main :is(a, button):not(nav *, .page-help, [role=columnheader] *, [role=tablist] *, [aria-pressed])";
/** Pages of which everybody may see something: himself, and how the appliance stands to its cloud. */
const OPEN_TO_ALL = ["/appliances", "/people"];
/** What the frame reads, which everybody may, so that it is no lie. */
const KNOWN: readonly string[] = [en["cloud.none"], en["appliances.at-cloud"]];
const WHY = /You need the permission “get [^”]+”/;
const WHY_EACH = new RegExp(WHY, "g");

describe("every page of the console", () => {
  let daemon: TestDaemon;
  let browser: Browser;
  /** Of the empty appliance. */
  let empty: string[];
  let paths: string[];

  beforeAll(async () => {
    daemon = await startTestDaemon();
    browser = await startBrowser();
    const api = createApiClient(daemon.url, daemon.first.token);
    const { id } = await api.post<{ id: string }>("/users", { name: "None", email: NOBODY.email });
    await daemon.call("PUT", `/users/${id}/password`, { password: NOBODY.password });
    await daemon.call("PUT", `/users/${id}`, { passwordResetRequired: false });
    const first = await openStatesWindow(browser, daemon.url);
    const all = await routerPaths(first.page);
    empty = await walkPages(
      all.filter((path) => !path.includes("$")),
      () => openStatesWindow(browser, daemon.url),
      async (window, path) => {
        await window.idle();
        const saysSo = ({ text }: { text: string }): boolean => EMPTY_WORDS.some((words) => text.includes(words));
        // On a loaded machine a page may be drawn after its answers have come; the limit of the test ends what never comes.
        const seen = NEVER_EMPTY.includes(path) ? await window.snapshot() : await window.snapshotWhen(saysSo);
        if (!saysSo(seen)) return ["says nothing"];
        return (await window.page.locator(STEPS).count()) > 0 ? [] : ["offers no first step"];
      },
    );
    paths = await withRows(daemon, all);
  });

  afterAll(async () => {
    await browser?.close();
    await daemon?.stop();
  });

  it("says what belongs there where there is nothing, and offers the first step", () => {
    const expected = [
      ...NEVER_EMPTY.map((path) => `${path} says nothing`),
      ...STEPLESS.map((path) => `${path} offers no first step`),
    ];
    expect(empty.sort()).toEqual(expected.sort());
  });

  it("fits onto a phone and is clean there, in light and in dark", async () => {
    const found = await walkPages(
      samplePaths(paths, 0),
      () => openStatesWindow(browser, daemon.url, { viewport: PHONE }),
      async (window) => {
        await window.idle();
        const light = await window.axe();
        const { isTooWide } = await window.snapshot();
        await window.page.emulateMedia({ colorScheme: "dark" });
        const dark = await window.axe("colours");
        await window.page.emulateMedia({ colorScheme: "light" });
        return [...light, ...dark.map((each) => `in dark ${each}`), ...(isTooWide ? ["is wider than the window"] : [])];
      },
    );
    expect(found).toEqual([]);
  });

  it("names the missing permission, and shows nothing that the user may not see", async () => {
    const found = await walkPages(
      samplePaths(paths, 1),
      () => openStatesWindow(browser, daemon.url, {}, NOBODY),
      async (window, path) => {
        await window.idle();
        // Several rights are one sentence that unfolds to them.
        const folded = window.page.locator(".page-notes summary");
        const said = (await window.page.locator(".page-notes").allInnerTexts()).join(" ").match(WHY_EACH) ?? [];
        if (await folded.count()) await folded.click();
        const { head, text } = await window.snapshot();
        const saysWhy = WHY.test(text) || text.includes(en["error.not-found"]);
        const lacking = window.forbiddenPaths().map(rightOf);
        // What this page asks for late is not the next one's.
        await window.navigate("/nowhere");
        await window.idle();
        return [
          ...(head ? [] : ["has no heading"]),
          ...(said.length > 1 ? ["says one sentence after the other"] : []),
          ...(saysWhy || OPEN_TO_ALL.includes(path) ? [] : ["does not say why so little is seen"]),
          ...lacking.filter((right) => !text.includes(right)).map((right) => `does not say ${right}`),
          ...EMPTY_WORDS.filter((words) => text.includes(words) && !KNOWN.includes(words)).map((x) => `claims: ${x}`),
        ];
      },
    );
    expect(found).toEqual([]);
  });

  it("says on the emergency sheet, too, which rights are lacking, and not that it is empty", async () => {
    const window = await openStatesWindow(browser, daemon.url, {}, NOBODY);
    await window.navigate("/");
    await window.page.getByRole("button", { name: en["emergency.open"] }).click();
    const sheet = window.page.getByRole("dialog");
    // Several rights are one sentence that unfolds to them.
    await sheet.locator(".page-notes summary").click();
    for (const right of ["get /message-templates", "get /scenarios"]) await sheet.getByText(right).waitFor();
    expect(await sheet.getByText(en["emergency.none"]).count()).toBe(0);
  });

  it("shows since when the connection is lost, keeps its content, and recovers", async () => {
    const found = await walkPages(
      samplePaths(paths, 2),
      () => openStatesWindow(browser, daemon.url),
      async (window) => {
        await window.idle();
        const before = await window.snapshot();
        await window.cut(true);
        await window.page.getByText(/Connection lost .+ ago/).waitFor();
        // A page that asks again meanwhile may say that nothing answers.
        const then = await window.snapshot();
        const claims = EMPTY_STATE_TEXTS.filter((words) => then.text.includes(words) && !before.text.includes(words));
        await window.cut(false);
        await window.page.locator(".strip.cut").waitFor({ state: "detached" });
        await window.idle();
        const after = await window.snapshot();
        return [
          ...(then.head?.text === before.head?.text ? [] : ["loses its heading"]),
          ...claims.map((words) => `claims: ${words}`),
          ...after.faults.map((fault) => `still says: ${fault}`),
        ];
      },
    );
    expect(found).toEqual([]);
  });
});

/** The right that a reading takes, as people read it. */
function rightOf(address: string): string {
  const [path = ""] = address.split("?");
  return `get ${path.replace("/api/v1", "").replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "*")}`;
}
