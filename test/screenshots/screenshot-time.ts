import type { Page } from "playwright-core";

/** When all pictures are taken, by the clocks that they show. */
export const NOW_MS = Date.UTC(2026, 2, 3, 8, 15);

/** An instant without milliseconds, by which times are known that are moved to the clocks. */
export const isoSecond = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`;

/** What rings next, by the clocks of the pictures. */
export async function stubNextRings(page: Page): Promise<void> {
  const ring = (minutes: number, name: string, school: string) => ({
    ...{
      id: `${minutes} ${school}`,
      at: isoSecond(NOW_MS + minutes * 60_000),
      state: "planned",
      messageTemplateId: name,
    },
    localTime: `${new Date(NOW_MS + minutes * 60_000).toISOString().slice(11, 16)}:00`,
    ...{ bellSchedule: { id: school, name: school }, messageTemplate: { id: name, name } },
  });
  const schools = ["High school", "Primary school"];
  const data = [30, 35, 80, 100, 145].flatMap((minutes) =>
    schools.slice(0, minutes === 80 ? 1 : 2).map((school) => ring(minutes, "Lesson bell", school)),
  );
  await page.route(/\/bell-rings\?/, (route) => route.fulfill({ json: { data } }));
}
