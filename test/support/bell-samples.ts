import type { ApiClient } from "../../src/api-client/api-client.ts";

interface Row {
  id: string;
}

const NORMAL_DAY = ["07:55", "08:00", "08:45", "08:50", "09:35", "09:55", "10:40", "10:45", "11:30", "12:15", "13:00"];
const SHORT_DAY = ["07:55", "08:00", "08:30", "08:35", "09:05", "09:20", "09:50", "09:55", "10:25"];

/**
 * The bells of two schools from `startDate` to `endDate`: a normal day, a short one on Fridays, holidays, a message by a rule and
 * a clearing. Messages go to `deviceGroupId`. Gives ids by name.
 */
export async function createSampleBells(
  api: ApiClient,
  { deviceGroupId, startDate, endDate }: { deviceGroupId: string; startDate: string; endDate: string },
): Promise<Record<string, string>> {
  const post = (path: string, body: object) => api.post<Row>(path, body as Record<string, unknown>);
  const template = (name: string, alertTone: string) =>
    post("/message-templates", { name, subject: name, alertTone, deviceGroupIds: [deviceGroupId] });
  const [first, lesson] = [await template("First bell", "chime"), await template("Lesson bell", "default")];
  const entriesOf = (times: readonly string[]) =>
    times.map((time, at) => ({ time, messageTemplateId: at === 0 ? first.id : lesson.id }));
  const normal = await post("/ring-lists", { name: "Normal day", entries: entriesOf(NORMAL_DAY) });
  const short = await post("/ring-lists", { name: "Short day", entries: entriesOf(SHORT_DAY) });
  const cycle = [0, 1, 2, 3, 4].map((entryNum) => ({ entryNum, ringListId: entryNum === 4 ? short.id : normal.id }));
  const days = { startDate, endDate, numWeeks: 1, timeZone: "UTC", bellScheduleEntries: cycle };
  const high = await post("/bell-schedules", { name: "High school", ...days });
  const primary = await post("/bell-schedules", { name: "Primary school", ...days });
  const scheduled = await post("/scheduled-notifications", {
    ...{ name: "Siren test", messageTemplateId: first.id, timeZone: "UTC", schedule: "0 0 11 ? * SAT#1" },
  });
  const clearing = await post("/clear-devices-schedules", { name: "Every evening", cronExpression: "0 0 18 ? * *" });
  const ids = { first, lesson, normal, short, high, primary, scheduled, clearing };
  return Object.fromEntries(Object.entries(ids).map(([name, { id }]) => [name, id]));
}
