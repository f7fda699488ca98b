import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { registerDevices } from "../../src/api-client/register-devices.ts";
import { createDemoSchool } from "../../src/tools/demo/demo-school.ts";
import { type BroadcastHarness, startBroadcastHarness } from "../support/broadcast-harness.ts";
import { startBrowser } from "../support/browser.ts";
import { holdUntil, openConsole } from "../support/console-pages.ts";
import { externalProgram } from "../support/external-programs.ts";
import { createSampleScenarios, LOCKDOWN_PIN } from "../support/scenario-samples.ts";
import { eventually } from "../support/timeouts.ts";

const { describe, it } = externalProgram("chromium");

const DAY_MS = 86_400_000;
const dayAt = (ms: number) => new Date(ms).toISOString().slice(0, 10);
const ZONE = { Group: "239.255.79.9", Port: "5004", Codec: "PCMU", TTL: "1" };
const EVERY_DAY = [0, 1, 2, 3, 4, 5, 6];
/** Tabs from one thing to the next: who presses more has been lost. */
const MAX_TABS = 60;
/** Many steps, each of which a machine under load may take long for. */
const LIMIT_MS = 600_000;
const STAFF = 8;
const VIEWPORT = { width: 1_280, height: 800 };
const PHONE = { width: 390, height: 844 };

interface Row {
  id: string;
}

/** Somebody without a mouse. */
interface Keyboard {
  /** Goes on by Tab until the focus is there. */
  reach(target: Locator): Promise<void>;
  press(key: string): Promise<void>;
  type(text: string): Promise<void>;
  /** Goes to a button or link and presses Enter. */
  use(target: Locator): Promise<void>;
  /** Holds Enter down until what that starts is seen. */
  hold(target: Locator, seen: () => Promise<unknown>): Promise<void>;
  /** Goes to a place by what Ctrl-K finds. */
  goTo(place: string, heading: string): Promise<void>;
}

function keyboardOf(page: Page): Keyboard {
  const press = async (key: string) => {
    await page.keyboard.press(key);
  };
  const reach = async (target: Locator) => {
    await target.waitFor();
    for (
      let tabs = 0;
      !(await target.evaluate((it: unknown) => (it as { matches(selector: string): boolean }).matches(":focus")));
      tabs++
    ) {
      if (tabs === MAX_TABS) throw new Error(`Tab does not come to ${target}`);
      await press("Tab");
    }
  };
  const type = async (text: string) => {
    await page.keyboard.type(text);
  };
  return {
    reach,
    press,
    type,
    async use(target) {
      await reach(target);
      await press("Enter");
    },
    async hold(target, seen) {
      await reach(target);
      await page.keyboard.down("Enter");
      await seen();
      await page.keyboard.up("Enter");
    },
    async goTo(place, heading) {
      await press("Control+k");
      await page.locator("dialog [role=combobox]:focus").waitFor();
      await type(place);
      await page.getByRole("option", { name: `${place} Page`, selected: true }).waitFor();
      await press("Enter");
      await page.getByRole("heading", { level: 1, name: heading }).waitFor();
    },
  };
}

describe("a day of a school, by keys alone", () => {
  let scene: BroadcastHarness;
  let browser: Browser;
  let everywhere: string;
  let lessonBell: string;
  let staff: Row[];

  beforeAll(async () => {
    scene = await startBroadcastHarness({ phones: 6, zones: 2 }, 60);
    const api = scene.api();
    await createDemoSchool(api);
    everywhere = (await api.get<{ data: Row[] }>("/device-groups?name=Everywhere")).data[0]?.id ?? "";
    const bell = { name: "Lesson bell", subject: "Lesson bell", alertTone: "chime", deviceGroupIds: [everywhere] };
    lessonBell = (await api.post<Row>("/message-templates", bell)).id;
    await makeRings("School", ["08:00", "08:45", "13:00"], Date.now(), Date.now() + 30 * DAY_MS);
    const { incident } = await createSampleScenarios(api, everywhere);
    // Until an emergency is over, also a drill of one, no bell rings at its devices.
    await api.post(`/incidents/${incident}/activities`, { type: "end-incident" });
    staff = await askStaffInLockdown();
    browser = await startBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    await scene?.end();
  });

  /** Rings at these times, UTC, on each day from one until another. */
  async function makeRings(name: string, times: readonly string[], firstMs: number, lastMs: number): Promise<void> {
    const entries = times.map((time) => ({ time, messageTemplateId: lessonBell }));
    const list = await scene.api().post<Row>("/ring-lists", { name, entries });
    await scene.api().post("/bell-schedules", {
      ...{ name, numWeeks: 1, timeZone: "UTC", startDate: dayAt(firstMs), endDate: dayAt(lastMs) },
      bellScheduleEntries: EVERY_DAY.map((entryNum) => ({ entryNum, ringListId: list.id })),
    });
  }

  /** The lockdown asks the teachers; everybody hears of it a second later when not all have answered. */
  async function askStaffInLockdown(): Promise<Row[]> {
    const api = scene.api();
    const request = await api.post<Row>("/confirmation-requests", { name: "Safe?", options: ["Safe", "Help"] });
    await api.post(`/confirmation-requests/${request.id}/escalation-rules`, {
      ...{ delay: 1, optionLabel: "Safe", comparison: "LT", comparisonValue: STAFF },
      ...{ subject: "Not everybody has answered", deviceGroupIds: [everywhere] },
    });
    const [doors] = (await api.get<{ data: Row[] }>("/message-templates?name=Lock+the+doors")).data;
    const [teachers] = (await api.get<{ data: Row[] }>("/distribution-lists?name=Teachers")).data;
    await api.put(`/message-templates/${doors?.id}`, {
      ...{ confirmationRequestId: request.id, distributionListIds: [teachers?.id] },
    });
    return (await api.get<{ data: Row[] }>("/users?q=school.example&sort=name")).data;
  }

  async function sitDown(viewport = VIEWPORT) {
    const { page, open, idle, errors } = await openConsole(browser, scene.url(), { viewport });
    await open("/");
    /** Nothing may be wider than the screen. */
    const fits = async (step: string) => {
      await idle();
      const width = await page.evaluate<number>("document.scrollingElement.scrollWidth");
      expect(width, step).toBeLessThanOrEqual(viewport.width);
    };
    return { page, keys: keyboardOf(page), sheet: page.getByRole("dialog"), api: scene.api(), faults: errors, fits };
  }

  it(
    "moves bells for snow, hears one, sends a page and finds a failed speaker",
    async () => {
      const { page, keys, sheet, api, faults, fits } = await sitDown();

      // In the evening before, snow.
      const tomorrow = dayAt(Date.now() + DAY_MS);
      await keys.goTo("Bells", "Calendar");
      await keys.use(page.getByRole("button", { name: "Change a day" }));
      await keys.use(sheet.getByRole("button", { name: "2 hours" }));
      await keys.reach(sheet.getByLabel("First day"));
      await keys.type(tomorrow.replace(/(....)-(..)-(..)/, "$2$3$1"));
      const shownDay = new Intl.DateTimeFormat("en-US", { month: "short", day: "numeric", timeZone: "UTC" });
      const moved = sheet.getByText("08:00 becomes 10:00").filter({ hasText: shownDay.format(Date.parse(tomorrow)) });
      await moved.waitFor();
      await keys.use(sheet.getByRole("button", { name: "Change bells" }));
      await page.getByText("1 schedule changed.").waitFor();
      const changes = await api.get<{ data: object[] }>("/bell-schedules-day-changes");
      expect(changes.data).toMatchObject([{ kind: "delay", minutes: 120, startDate: tomorrow }]);
      await fits("snow delay");

      // A speaker goes, as the call manager would say; the alarm comes when alarms are looked for.
      const lost = { description: "Speaker of the gym", attributes: { ...ZONE, IsRegistered: "false" } };
      await registerDevices(api, [{ type: "speakers", deviceIdentifier: "zone:gym", ...lost }]);

      // The bell, while somebody looks.
      await keys.goTo("Dashboard", "Dashboard");
      const ringMs = Date.now() + 15_000;
      await makeRings("Early birds", [new Date(ringMs).toISOString().slice(11, 19)], ringMs, ringMs);
      const rung = page.locator("main li").filter({ has: page.getByRole("link", { name: "Lesson bell" }) });
      // Until it is to be heard it is "Prepared".
      await rung
        .getByText(/In progress|Finished/)
        .first()
        .waitFor();
      const bells = await api.get<{ data: object[] }>("/notifications?subject=Lesson+bell&draft=false");
      expect(bells.data).toMatchObject([{ soundsAt: new Date(ringMs - (ringMs % 1_000)).toISOString() }]);
      await rung
        .getByText(/^[1-9] of [89] devices/)
        .first()
        .waitFor();
      await fits("bell");

      // A page to some rooms.
      await keys.use(page.locator("main").getByRole("link", { name: "Send a message" }));
      await keys.reach(page.getByRole("textbox", { name: /^Subject/ }));
      await keys.type("Mr Patel, please come to the office");
      await keys.reach(page.getByRole("combobox", { name: "Device groups" }));
      await keys.type("Classrooms");
      await page.getByRole("option", { name: "Classrooms" }).waitFor();
      await keys.press("ArrowDown");
      await keys.press("Enter");
      await keys.press("Escape");
      await keys.use(page.getByRole("button", { name: "Send live …" }));
      await keys.use(sheet.getByRole("button", { name: "Send live now" }));
      await page.getByRole("heading", { name: "Mr Patel, please come to the office" }).waitFor();
      await fits("page");

      // The speaker that has gone, which the first page tells.
      await keys.goTo("Dashboard", "Dashboard");
      await page.getByRole("list", { name: "Open alarms" }).waitFor();
      await keys.use(page.getByRole("list", { name: "Open alarms" }).getByRole("link", { name: /^1 speaker/ }));
      await sheet
        .getByText(/not registered/)
        .first()
        .waitFor();
      await keys.reach(sheet.getByRole("switch", { name: "Mute messages of this alarm" }));
      await keys.press("Space");
      await page.getByText("Saved.").waitFor();
      await keys.press("Escape");
      await fits("failed speaker");
      expect(faults).toEqual([]);
    },
    LIMIT_MS,
  );

  it(
    "drills, locks down, calls the roll and prints the report",
    async () => {
      const { page, keys, sheet, api, faults, fits } = await sitDown();

      // A drill, which looks like nothing else.
      await keys.use(page.getByRole("button", { name: /^Emergency/ }));
      await keys.reach(sheet.getByRole("radio", { name: "LIVE" }));
      await keys.press("ArrowRight");
      const fire = sheet.locator(".emergency-tile.drill").filter({ hasText: "Fire" });
      await keys.hold(fire, () => page.waitForURL(/broadcasts\/./));
      await page.locator("header.drill").getByText("DRILL", { exact: true }).waitFor();
      await fits("drill");

      // A lockdown.
      await keys.use(page.getByRole("button", { name: /^Emergency/ }));
      await keys.use(sheet.locator(".emergency-tile").filter({ hasText: "Lockdown" }));
      await keys.reach(page.getByRole("radio", { name: "North" }));
      await keys.press("Space");
      await keys.reach(page.getByRole("textbox", { name: "PIN" }));
      await keys.type(LOCKDOWN_PIN);
      const start = page.getByRole("button", { name: "Start LIVE" });
      await keys.hold(start, () => page.getByText("Lockdown started").waitFor());
      await fits("lockdown");
      const [sent] = (await api.get<{ data: Row[] }>("/notifications?subject=Lockdown:+North&draft=false")).data;
      const answer = { type: "confirmation", confirmationOption: "Safe" };
      for (const { id } of staff.slice(0, 3))
        await api.post(`/users/${id}/notifications/${sent?.id}/activities`, answer);
      await keys.use(page.getByRole("link", { name: `3 of ${STAFF} have answered` }));
      await page.getByRole("heading", { name: "Roll call" }).waitFor();
      await keys.reach(page.getByRole("switch", { name: "Only those who have not answered" }));
      await keys.press("Space");
      await expect.poll(() => page.getByText("No response").count()).toBe(STAFF - 3);
      await fits("who has not answered");
      await eventually(async () =>
        Boolean((await api.get<{ total: number }>("/notifications?subject=Not+everybody+has+answered")).total),
      );

      // The end, and what is kept of it.
      await keys.goTo("Dashboard", "Dashboard");
      await keys.use(page.locator("main").getByRole("link", { name: "Lockdown", exact: true }));
      await page.locator(".timeline").getByText("Not everybody has answered").first().waitFor();
      const clear = page.getByRole("button", { name: "Send all-clear" });
      await keys.hold(clear, () => page.locator(".timeline").getByText("All-clear").first().waitFor());
      await keys.use(page.getByRole("button", { name: "End incident" }));
      await keys.use(sheet.getByRole("button", { name: "End incident" }));
      await page.locator("header .chip", { hasText: /^✓Ended$/ }).waitFor();
      await fits("all-clear");
      const report = await page.getByRole("link", { name: "Printable report" }).getAttribute("href");
      const paper = await (await page.request.get(`${scene.url()}${report}`)).text();
      expect(paper).toContain("Not everybody has answered");
      expect(paper.slice(paper.indexOf("<body")).toUpperCase()).not.toContain("DRILL");
      expect(faults).toEqual([]);
    },
    LIMIT_MS,
  );

  it(
    "sends, stops, locks down and calls the roll on a phone",
    async () => {
      const { page, sheet, api, faults, fits } = await sitDown(PHONE);
      await page.locator("main").getByRole("link", { name: "Send a message" }).click();
      await page.getByRole("textbox", { name: /^Subject/ }).fill("The gate is open");
      const groups = page.getByRole("combobox", { name: "Device groups" });
      // In the middle, so that a health notice, which moves the page down, does not move it off the screen.
      await groups.evaluate("(field) => field.scrollIntoView({ block: 'center' })");
      await groups.fill("Classrooms");
      await page.getByRole("option", { name: "Classrooms" }).click();
      await page.keyboard.press("Escape");
      await fits("message");
      await page.getByRole("button", { name: "Send live …" }).click();
      await sheet.getByRole("button", { name: "Send live now" }).click();
      await page.getByRole("heading", { name: "The gate is open" }).waitFor();
      await fits("sent");

      const choir = await scene.send("The choir", 300);
      const strip = page.locator(".strip.sounding").filter({ hasText: "The choir" });
      await strip.waitFor();
      await fits("sounding");
      await strip.getByRole("button", { name: /^Stop/ }).click();
      await eventually(async () =>
        Boolean((await api.get<{ abortedAt: string | null }>(`/notifications/${choir}`)).abortedAt),
      );
      await strip.waitFor({ state: "detached" });

      await page.getByRole("button", { name: /^Emergency/ }).click();
      await sheet.locator(".emergency-tile").filter({ hasText: "Lockdown" }).click();
      await page.getByRole("radio", { name: "North" }).check();
      await page.getByRole("textbox", { name: "PIN" }).fill(LOCKDOWN_PIN);
      await fits("asked");
      const start = page.getByRole("button", { name: "Start LIVE" });
      await holdUntil(start, () => page.getByText("Lockdown started").waitFor());
      await fits("lockdown");
      await page.getByRole("link", { name: `0 of ${STAFF} have answered` }).click();
      await page.getByRole("heading", { name: "Roll call" }).waitFor();
      await expect.poll(() => page.getByText("No response").count()).toBe(STAFF);
      await fits("roll call");
      expect(faults).toEqual([]);
    },
    LIMIT_MS,
  );
});
