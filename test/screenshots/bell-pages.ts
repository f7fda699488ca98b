import type { Page } from "playwright-core";
import { type ApiClient, listAll } from "../../src/api-client/api-client.ts";
import { createSampleBells } from "../support/bell-samples.ts";
import { isoSecond, NOW_MS } from "./screenshot-time.ts";
import type { Screenshot } from "./screenshots.ts";

const DAY_MS = 86_400_000;
/** The same day of the week, years after the clocks of the pictures: what is past rings no more. */
const AHEAD_MS = 261 * 7 * DAY_MS;
const STATES = ["rung", "rung", "rung", "late", "rung", "missed", "skipped"];

interface Told {
  at: string;
  localDate: string;
  state: string;
}

const dayMoved = (day: string, ms: number) => new Date(Date.parse(day) + ms).toISOString().slice(0, 10);

/** Rings are told for the week of the pictures, the past ones with what might have become of them. */
async function inMarch(page: Page): Promise<void> {
  await page.route(/\/rings\?/, async (route) => {
    const url = new URL(route.request().url());
    for (const name of ["from", "to"]) url.searchParams.set(name, dayMoved(url.searchParams.get(name) ?? "", AHEAD_MS));
    const answer = (await (await route.fetch({ url: url.href })).json()) as { data: Told[] };
    const data = answer.data.map((ring, at) => {
      const ms = Date.parse(ring.at) - AHEAD_MS;
      const state = ms < NOW_MS ? STATES[at % STATES.length] : ring.state;
      // Without milliseconds, by which times are known that are moved to the clocks.
      return { ...ring, state, localDate: dayMoved(ring.localDate, -AHEAD_MS), at: isoSecond(ms) };
    });
    await route.fulfill({ json: { ...answer, data } });
  });
}

/** Two schools around the clocks of the pictures, with holidays and a changed day. */
export async function createBellScreenshotData(api: ApiClient): Promise<Record<string, string>> {
  const [group] = await listAll<{ id: string }>(api, "/device-groups?name=Everywhere");
  const days = { startDate: "2025-09-01", endDate: "2031-07-31" };
  const ids = await createSampleBells(api, { deviceGroupId: group?.id ?? "", ...days });
  const bellScheduleExceptions = [
    { startDate: "2025-12-22", endDate: "2026-01-02", ringListId: null, description: "Christmas" },
    { startDate: "2026-02-12", endDate: "2026-02-12", ringListId: ids.short, description: "Teachers’ conference" },
    { startDate: "2026-03-30", endDate: "2026-04-10", ringListId: null, description: "Spring break" },
  ];
  for (const id of [ids.high, ids.primary]) await api.put(`/bell-schedules/${id}`, { bellScheduleExceptions });
  await api.post("/bell-schedules-day-changes", {
    ...{ kind: "delay", minutes: 120, startDate: "2026-03-05", description: "Snow" },
    allBellSchedules: true,
  });
  // A difference is told of the days to come alone.
  const week = Math.ceil(Date.now() / (7 * DAY_MS)) * 7 * DAY_MS;
  return { ...ids, schoolDay: new Date(week + 7 * DAY_MS).toISOString().slice(0, 10) };
}

const tab = (name: string) => async (page: Page) => {
  await page.getByRole("tab", { name, exact: true }).click();
  await page.waitForSelector("[role=tabpanel]:visible");
};
const difference = ".difference .reach-line";

/** Pages of bells. */
export const BELL_PAGES: readonly Screenshot[] = [
  { name: "bells-week", path: "/bells", wait: ".ring-block.bad", before: inMarch },
  {
    name: "bells-ring",
    path: "/bells",
    wait: ".ring-block.bad",
    before: inMarch,
    act: (page) => page.locator(".ring-block.bad").first().click(),
  },
  { name: "bells-year", path: "/bells?view=year", wait: ".year-day.changed" },
  { name: "bells-day", path: "/bells?open=day&day=2026-03-05", wait: "[role=dialog] h3", before: inMarch },
  { name: "bells-change", path: "/bells?open=change&day={schoolDay}", wait: difference },
  { name: "bell-schedules", path: "/bell-schedules", wait: "[role=cell]" },
  { name: "bell-schedule", path: "/bell-schedules?open={high}", wait: "[role=dialog] select" },
  { name: "bell-schedule-calendars", path: "/bell-schedules?open={high}", act: tab("Calendar subscriptions") },
  { name: "bell-ring-lists", path: "/ring-lists", wait: "[role=cell]" },
  { name: "bell-ring-list", path: "/ring-lists?open={normal}", wait: ".entry input" },
  { name: "bell-scheduled", path: "/scheduled-messages?open={scheduled}", wait: "[role=dialog] .card li" },
  { name: "bell-clearing", path: "/clearings?open={clearing}", wait: "[role=dialog] .card li" },
  { name: "bell-sheets", path: "/bell-print", wait: ".bell-print tbody tr" },
];
