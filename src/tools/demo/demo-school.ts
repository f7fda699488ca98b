import { randomBytes } from "node:crypto";
import { type ApiClient, listAll } from "../../api-client/api-client.ts";
import { DAY_MS } from "../../lib/durations.ts";
import { UpstreamError } from "../../lib/errors.ts";
import { createDemoRecording } from "./demo-recording.ts";

const TEACHERS = [
  "Amara Okafor",
  "Ben Lindqvist",
  "Carmen Ortiz",
  "Dev Patel",
  "Elif Demir",
  "Farid Haddad",
  "Grace Kim",
  "Hana Novak",
];

const CORRIDORS = "Corridors and yard";

/** The message template of the demo school. */
export interface DemoSchool {
  templateId: string;
  /** Name of the template. */
  template: string;
}

interface Row {
  id: string;
}

/** Sets the user name and password that pushes of the ip-phones plugin carry, as an administrator would. */
export async function setPushCredentials(api: ApiClient): Promise<void> {
  const extensions = await listAll<Row & { name: string }>(api, "/extensions");
  const phones = extensions.find(({ name }) => name === "ip-phones");
  if (!phones) throw new UpstreamError("upstream", "The ip-phones plugin is not installed.");
  const config = { pushUser: "carillon-demo", pushPassword: randomBytes(18).toString("base64url") };
  await api.put(`/extensions/${phones.id}`, { config });
}

/** Creates a small school on the appliance: teachers with a distribution list, device groups, and a message template. */
export async function createDemoSchool(api: ApiClient): Promise<DemoSchool> {
  const list = await api.post<Row>("/distribution-lists", { name: "Teachers" });
  for (const name of TEACHERS) {
    const email = `${name.toLowerCase().replace(" ", ".")}@school.example`;
    const user = await api.post<Row>("/users", { name, email });
    await api.post(`/distribution-lists/${list.id}/user-subscriptions`, { userId: user.id });
  }
  const classrooms = await createDeviceGroup(api, "Classrooms", "phones");
  const corridors = await createDeviceGroup(api, CORRIDORS, "speakers");
  const name = "Good morning";
  const form = new FormData();
  form.set("name", name);
  form.set("subject", "Good morning, everybody");
  form.set("body", "The assembly is at 9:30 in the gym. Period 2 starts ten minutes later.");
  form.set("alertTone", "chime");
  form.append("distributionListIds[]", list.id);
  for (const group of [classrooms, corridors]) form.append("deviceGroupIds[]", group.id);
  form.set("audio", new Blob([createDemoRecording()], { type: "audio/wav" }), "good-morning.wav");
  const template = await api.post<Row>("/message-templates", form);
  return { templateId: template.id, template: name };
}

const LESSON_TIMES = [
  "08:00",
  "08:45",
  "08:50",
  "09:35",
  "09:55",
  "10:40",
  "10:45",
  "11:30",
  "12:15",
  "13:00",
  "14:30",
];

/** Creates what a day of the school has: bells from Monday to Friday for a year from `now` (epoch ms), and a lockdown. */
export async function createSchoolDay(api: ApiClient, now: number): Promise<void> {
  const groups = await listAll<Row & { name: string }>(api, "/device-groups");
  const deviceGroupIds = groups.map(({ id }) => id);
  const corridors = groups.filter(({ name }) => name === CORRIDORS).map(({ id }) => id);
  const bell = { name: "Lesson bell", subject: "Lesson bell", alertTone: "bell", deviceGroupIds: corridors };
  const { id: messageTemplateId } = await api.post<Row>("/message-templates", bell);
  const entries = LESSON_TIMES.map((time) => ({ time: `${time}:00`, messageTemplateId }));
  const { id: ringListId } = await api.post<Row>("/ring-lists", { name: "School day", entries });
  await api.post("/bell-schedules", {
    ...{ name: "Lessons", numWeeks: 1, startDate: dayOf(now), endDate: dayOf(now + 364 * DAY_MS) },
    bellScheduleEntries: [0, 1, 2, 3, 4].map((entryNum) => ({ entryNum, ringListId })),
  });
  await api.post("/message-templates", {
    ...{ name: "Lockdown", subject: "Lockdown", body: "Lock the doors. Stay away from the windows." },
    ...{ alertTone: "lockdown", priority: "critical", deviceGroupIds },
  });
}

function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** Creates a group of all devices of one type. */
async function createDeviceGroup(api: ApiClient, name: string, type: string): Promise<Row> {
  const filters = [{ attribute: "ServiceDeviceType", comparison: "EQUALS", value: type }];
  return api.post<Row>("/device-groups", { name, filterType: "AND", filters });
}
