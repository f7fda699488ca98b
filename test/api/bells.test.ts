import ICAL from "ical.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import { createBellFixture, dateAfterDays } from "./bell-fixture.ts";

let api: ApiFixture;
let templateId: string;
const { make, message, ringList, schedule, exceptionsOf, refused } = createBellFixture(() => api);
beforeAll(async () => {
  api = await openApi(makeTempDir());
  templateId = await message();
});
afterAll(() => api.close());

describe("a ring list", () => {
  it("shows its rings in order of time, with names, and keeps who they are", async () => {
    const group = await make("/device-groups", { name: "Gym", filterType: "REJECT" });
    const id = await make("/ring-lists", {
      name: "Short day",
      entries: [
        { time: "09:15", messageTemplateId: templateId },
        { time: "08:00:30", "message-template-id": templateId, deviceGroupIds: [group] },
      ],
    });
    const { body } = await api.call("GET", `/ring-lists/${id}`);
    expect(body.entries).toMatchObject([
      {
        time: "08:00:30",
        messageTemplate: { id: templateId, name: "Bell" },
        deviceGroups: [{ id: group, name: "Gym" }],
        distributionLists: [],
      },
      { time: "09:15:00", deviceGroupIds: [] },
    ]);
    const [first, second] = body.entries;
    const changed = await api.call("PUT", `/ring-lists/${id}`, {
      json: {
        entries: [
          { time: "12:00:00", messageTemplateId: templateId },
          { time: "08:00:30", messageTemplateId: templateId },
          { id: second.id, time: "09:20:00", messageTemplateId: templateId },
        ],
      },
    });
    expect(changed.body.entries.map((entry: { id: string }) => entry.id).slice(0, 2)).toEqual([first.id, second.id]);
    const dependents = await api.call("GET", `/message-templates/${templateId}/ring-list-dependents`);
    expect(dependents.body.data.map((each: { resourceName: string }) => each.resourceName)).toContain("Short day");
  });

  it("refuses times that there are not, messages that are not there and a name that is taken", async () => {
    const entries = [
      { time: "24:00:00", messageTemplateId: templateId },
      { time: "8:00", messageTemplateId: templateId },
    ];
    expect(await refused("POST", "/ring-lists", { name: "Wrong", entries })).toEqual(["entries[0].time"]);
    const unknown = { time: "08:00:00", messageTemplateId: "3f2504e0-4f89-41d3-9a0c-0305e82c3301" };
    expect(await refused("POST", "/ring-lists", { name: "Wrong", entries: [unknown] })).toEqual([
      "entries[0].messageTemplateId",
    ]);
    expect(await refused("POST", "/ring-lists", { name: "Wrong", entries: [{ time: "08:00:00" }] })).toEqual([
      "entries[0].messageTemplateId",
    ]);
    await make("/ring-lists", { name: "Taken" });
    expect((await api.call("POST", "/ring-lists", { json: { name: "taken" } })).status).toBe(409);
  });

  it("stays as long as a schedule rings by it, and its message as long as it rings", async () => {
    const id = await ringList("08:00:00");
    const scheduleId = await schedule({ bellScheduleEntries: [{ entryNum: 0, ringListId: id }] });
    expect((await api.call("DELETE", `/ring-lists/${id}`)).status).toBe(409);
    expect((await api.call("DELETE", `/message-templates/${templateId}`)).status).toBe(409);
    const dependents = await api.call("GET", `/ring-lists/${id}/bell-schedule-dependents`);
    expect(dependents.body.data).toMatchObject([{ resourceId: scheduleId }]);
    await api.call("PUT", `/bell-schedules/${scheduleId}`, {
      json: {
        startDate: "2001-09-01",
        bellScheduleEntries: [],
        // Days that are over hold nobody up.
        bellScheduleExceptions: [
          { startDate: "2001-10-01", endDate: "2001-10-01", ringListId: id, description: "over" },
          { startDate: "2001-10-02", endDate: "2001-10-02", description: "stays" },
        ],
      },
    });
    expect((await api.call("DELETE", `/ring-lists/${id}`)).status).toBe(200);
    expect(await exceptionsOf(scheduleId)).toEqual(["2001-10-02..2001-10-02 silent stays"]);
  });
});

describe("a bell schedule", () => {
  it("shows its days with the names of their ring lists", async () => {
    const id = await ringList("08:00:00");
    const made = await api.call("POST", "/bell-schedules", {
      json: {
        name: "Upper school",
        numWeeks: 2,
        startDate: "2031-09-01",
        endDate: "2032-06-30",
        bellScheduleEntries: [
          { entryNum: 13, ringListId: null },
          { entryNum: 0, ringListId: id },
        ],
        bellScheduleExceptions: [
          { startDate: "2031-12-22", endDate: "2032-01-02", description: "Holidays" },
          { startDate: "2031-10-03", endDate: "2031-10-03", ringListId: id, ringListChanges: ["delay 60"] },
        ],
      },
    });
    expect(made.body).toMatchObject({
      timeZone: null,
      rotation: "calendar",
      bellScheduleEntries: [
        { entryNum: 0, ringListId: id, ringListName: expect.stringMatching(/^List/) },
        { entryNum: 13, ringListId: null, ringListName: null },
      ],
      bellScheduleExceptions: [
        { startDate: "2031-10-03", ringListId: id, ringListChanges: ["delay 60"] },
        { startDate: "2031-12-22", endDate: "2032-01-02", ringListId: null, description: "Holidays" },
      ],
    });
    const copy = await api.call("POST", `/bell-schedules/${made.body.id}/clone`);
    expect(copy.body).toMatchObject({ name: "Upper school (Copy)", numWeeks: 2 });
    expect(copy.body.bellScheduleEntries).toEqual(made.body.bellScheduleEntries);
  });

  it("refuses days that do not fit together, naming each", async () => {
    const base = { name: "Wrong", numWeeks: 1, startDate: "2031-09-01", endDate: "2031-12-19" };
    const wrong = (more: object) => refused("POST", "/bell-schedules", { ...base, ...more });
    expect(await wrong({ endDate: "2031-08-31" })).toEqual(["endDate"]);
    expect(await wrong({ endDate: "9999-12-31" })).toEqual(["endDate"]);
    expect(await wrong({ timeZone: "Europe/Atlantis" })).toEqual(["timeZone"]);
    expect(await wrong({ numWeeks: 53 })).toEqual(["numWeeks"]);
    expect(await wrong({ bellScheduleEntries: [{ entryNum: 7 }] })).toEqual(["bellScheduleEntries[0].entryNum"]);
    expect(await wrong({ bellScheduleEntries: [{ entryNum: 1 }, { entryNum: 1 }] })).toEqual([
      "bellScheduleEntries[1].entryNum",
    ]);
    const day = (startDate: string, endDate: string, more: object = {}) => ({ startDate, endDate, ...more });
    const exceptions = [
      day("2031-10-03", "2031-10-02"),
      day("2031-10-05", "2031-10-09"),
      day("2031-10-09", "2031-10-10", { ringListChanges: ["delay 60", "later"] }),
    ];
    expect(await wrong({ bellScheduleExceptions: exceptions })).toEqual([
      "bellScheduleExceptions[0].endDate",
      "bellScheduleExceptions[2].startDate",
      "bellScheduleExceptions[2].ringListChanges",
      "bellScheduleExceptions[2].ringListChanges[1]",
    ]);
    const id = await schedule({ numWeeks: 2, bellScheduleEntries: [{ entryNum: 8, ringListId: null }] });
    expect(await refused("PUT", `/bell-schedules/${id}`, { numWeeks: 1 })).toEqual(["numWeeks"]);
  });
});

describe("scheduled messages and clearings", () => {
  const post = (json: object) =>
    api.call("POST", "/scheduled-notifications", {
      json: { name: "Daily", messageTemplateId: templateId, timeZone: "Europe/Berlin", ...json },
    });

  it("return the time of their next occurrence", async () => {
    const made = await post({ schedule: "0 30 7 1 JAN ? 2031" });
    expect(made.body).toMatchObject({ nextFireTime: "2031-01-01T06:30:00.000Z", messageTemplate: { id: templateId } });
    const disabled = await api.call("PUT", `/scheduled-notifications/${made.body.id}`, { json: { disabled: true } });
    expect(disabled.body.nextFireTime).toBeNull();
    const rule = await post({ schedule: "DTSTART:20310103T080000\nRRULE:FREQ=WEEKLY;COUNT=2\nEXDATE:20310103T080000" });
    expect(rule.body.nextFireTime).toBe("2031-01-10T07:00:00.000Z");
    expect((await api.call("POST", `/scheduled-notifications/${rule.body.id}/clone`)).body.name).toBe("Daily (Copy)");
    const clearing = await api.call("POST", "/clear-devices-schedules", {
      json: { name: "Evening", cronExpression: "0 0 18 1 7 ? 2031" },
    });
    expect(clearing.body.nextFireTime).toBe("2031-07-01T16:00:00.000Z");
    const summer = `/clear-devices-schedules/${clearing.body.id}?includeNextFireTimes=true`;
    expect((await api.call("GET", summer)).body).toMatchObject({
      ...{ nextFireTimes: ["2031-07-01T16:00:00.000Z"], nextLocalTimes: ["2031-07-01T18:00:00+02:00"] },
      nextLocalTime: "2031-07-01T18:00:00+02:00",
    });
    const json = { name: "Early", messageTemplateId: templateId, timeZone: "Europe/Berlin" };
    const path = "/scheduled-notifications?dryRun=true&includeNextFireTimes=true";
    const early = (await api.call("POST", path, { json: { ...json, schedule: "0 30 2 ? 3 SUN 2031" } })).body;
    // On the last Sunday the clocks leave out half past two.
    expect(early.nextFireTimes).toEqual(
      ["02T01:30", "09T01:30", "16T01:30", "23T01:30", "30T01:00"].map((at) => `2031-03-${at}:00.000Z`),
    );
  });

  it("end at the instant that UNTIL names in UTC", async () => {
    const schedule = "DTSTART;TZID=Europe/Berlin:20311130T080000\nRRULE:FREQ=DAILY;UNTIL=20311202T070000Z";
    const { body } = await post({ schedule });
    const found = await api.call("GET", `/scheduled-notifications/${body.id}?includeNextFireTimes=true`);
    expect(found.body.nextLocalTimes).toEqual(["11-30", "12-01", "12-02"].map((day) => `2031-${day}T08:00:00+01:00`));
  });

  it("may recur every minute from a date in the past", async () => {
    const [hours, minutes] = [24, 60].map((count) => Array.from({ length: count }, (_, at) => at).join());
    const schedule = `DTSTART:20000101T000000\nRRULE:FREQ=DAILY;BYHOUR=${hours};BYMINUTE=${minutes}`;
    const { status, body } = await api.call("POST", "/scheduled-notifications?dryRun=true&includeNextFireTimes=true", {
      json: { name: "Every minute", messageTemplateId: templateId, timeZone: "Europe/Berlin", schedule },
    });
    const [first = "", second = ""] = body.nextFireTimes;
    expect([status, Date.parse(second) - Date.parse(first)]).toEqual([200, 60_000]);
  });

  it("refuse rules that can't be read", async () => {
    const refusal = async (json: object) =>
      (await post(json)).body.errors?.map(({ field }: { field: string }) => field);
    expect(await refusal({ schedule: "0 30 7 * * *" })).toBeUndefined();
    expect(await refusal({ schedule: "30 7 * * MON-FRI" })).toEqual(["schedule"]);
    expect(await refusal({ schedule: `0 30 7 ? * ${"MON,".repeat(80)}MON` })).toEqual(["schedule"]);
    expect(await refusal({ schedule: "RRULE:FREQ=SECONDLY" })).toEqual(["schedule"]);
    expect(await refusal({ schedule: "0 30 7 ? * MON", timeZone: null })).toEqual(["timeZone"]);
    expect(await refused("POST", "/clear-devices-schedules", { name: "Never", cronExpression: "soon" })).toEqual([
      "cronExpression",
    ]);
  });
});

describe("calendars", () => {
  const VEVENT = ["BEGIN:VEVENT", "UID:1", "DTSTART;VALUE=DATE:20311003", "SUMMARY:Unity\\, day", "END:VEVENT"];
  const WEEKLY = ["BEGIN:VEVENT", "UID:2", "DTSTART;VALUE=DATE:20311013", "RRULE:FREQ=DAILY;COUNT=5"];
  const CALENDAR = [
    ...["BEGIN:VCALENDAR", "VERSION:2.0", ...VEVENT],
    ...[...WEEKLY, "EXDATE;VALUE=DATE:20311015", "SUMMARY:Autumn", "END:VEVENT", "END:VCALENDAR", ""],
  ].join("\r\n");
  const sent = { body: CALENDAR, headers: { "content-type": "text/calendar" } };

  it("bring holidays in, which give way to nothing in their way", async () => {
    const id = await schedule({
      bellScheduleExceptions: [{ startDate: "2031-10-01", endDate: "2031-10-03", description: "Project" }],
    });
    const at = `/bell-schedules/${id}/holidays`;
    const foreseen = await api.call("POST", `${at}?dryRun=true`, sent);
    expect(foreseen.body).toMatchObject({ imported: 3, ringDiff: { schedules: 1 } });
    expect(await exceptionsOf(id)).toHaveLength(1);
    expect((await api.call("POST", at, sent)).body.imported).toBe(3);
    expect(await exceptionsOf(id)).toEqual([
      "2031-10-01..2031-10-02 silent Project",
      "2031-10-03..2031-10-03 silent Unity, day",
      "2031-10-13..2031-10-14 silent Autumn",
      "2031-10-16..2031-10-17 silent Autumn",
    ]);
    expect((await api.call("POST", at, { ...sent, body: "no calendar" })).status).toBe(400);
    expect((await api.call("POST", at, { ...sent, body: "x".repeat(1_100_000) })).status).toBe(413);
    expect((await api.call("POST", at, { json: {} })).status).toBe(415);
    const marked = await api.call("POST", `${at}?dryRun=true`, { ...sent, body: `\uFEFF${CALENDAR}` });
    expect([marked.status, marked.body.imported]).toEqual([200, 3]);
  });

  it("import the events that can be read, and list the others", async () => {
    const id = await schedule({ timeZone: "America/New_York" });
    const at = `/bell-schedules/${id}/holidays`;
    const event = (...lines: string[]): string[] => ["BEGIN:VEVENT", ...lines, "END:VEVENT"];
    const lines = (...events: string[][]): string =>
      ["BEGIN:VCALENDAR", ...events.flat(), "END:VCALENDAR", ""].join("\r\n");
    const bad = event("UID:1", "DTSTART;VALUE=DATE:20311340", "SUMMARY:Typing slip");
    // Midnight in New York.
    const good = event("UID:2", "DTSTART:20311003T040000Z", "DTEND:20311004T040000Z", "SUMMARY:Künste");
    const post = (text: string | Buffer, query = "") =>
      api.call("POST", `${at}${query}`, { ...sent, body: text as string });
    const answer = await post(lines(bad, good), "?dryRun=true");
    expect(answer.body).toMatchObject({ imported: 1 });
    const messageSentence = { code: "calendar.date-invalid", params: { name: "DTSTART" } };
    expect(answer.body.rejected).toEqual([
      { messageSentence, number: 1, summary: "Typing slip", message: "DTSTART is not a valid date." },
    ]);
    const refusal = await post(lines(bad));
    expect([refusal.status, refusal.text]).toEqual([400, expect.stringContaining("Typing slip")]);
    for (const text of [
      `\uFEFF${lines(good)}`,
      Buffer.from(`\uFEFF${lines(good)}`, "utf16le"),
      Buffer.from(`\uFEFF${lines(good)}`, "utf16le").swap16(),
      Buffer.from(lines(good), "latin1"),
    ]) {
      const taken = await post(text);
      expect([taken.status, taken.body.imported, taken.body.rejected]).toEqual([200, 1, []]);
      expect(await exceptionsOf(id)).toEqual(["2031-10-03..2031-10-03 silent Künste"]);
    }
  });

  it("follow the rings by an address that is good until it is taken away", async () => {
    const list = await ringList("08:00:00");
    const bellScheduleEntries = [0, 1, 2, 3, 4, 5, 6].map((entryNum) => ({ entryNum, ringListId: list }));
    const days = { startDate: dateAfterDays(1), endDate: dateAfterDays(5), timeZone: "UTC" };
    const bellScheduleExceptions = [
      { startDate: dateAfterDays(2), endDate: dateAfterDays(2), description: "Wörter; ".repeat(20) },
    ];
    const id = await schedule({ ...days, bellScheduleEntries, bellScheduleExceptions });
    const feed = await api.call("POST", `/bell-schedules/${id}/feeds`, { json: { name: "Staff room" } });
    const [, query] = feed.body.url.split("/rings.ics");
    const read = (path: string, token: string | null = null) => api.call("GET", `/bell-schedules/${path}`, { token });
    const calendar = await read(`${id}/rings.ics${query}`);
    expect([calendar.status, calendar.headers.get("content-type")]).toEqual([200, "text/calendar; charset=utf-8"]);
    expect(calendar.text.split("\r\n").every((line: string) => Buffer.byteLength(line) <= 75)).toBe(true);
    const component = new ICAL.Component(ICAL.parse(calendar.text));
    const events = component.getAllSubcomponents("vevent").map((each) => new ICAL.Event(each));
    expect(events.map(({ summary, startDate }) => `${startDate} ${summary}`)).toEqual([
      `${dateAfterDays(2)} ${"Wörter; ".repeat(20)}`,
      ...[1, 3, 4, 5].map((day) => `${dateAfterDays(day)}T08:00:00Z Bell`),
    ]);
    const other = await schedule();
    expect((await read(`${other}/rings.ics${query}`)).status).toBe(404);
    expect((await read(`${id}/rings.ics?token=carillon_wrong`)).status).toBe(404);
    expect((await read(`${id}/rings.ics`)).status).toBe(404);
    expect((await read(`${id}/rings.ics`, api.token)).status).toBe(200);
    expect((await read(`${id}/rings.ics`, (await api.user("Stranger to bells")).token)).status).toBe(404);
    const shown = await api.call("GET", `/bell-schedules/${id}/feeds`);
    expect(shown.body.data).toMatchObject([{ name: "Staff room", lastReadAt: expect.any(String) }]);
    expect(shown.text).not.toContain("token");
    await api.call("DELETE", `/bell-schedules/${id}/feeds/${feed.body.id}`);
    expect((await read(`${id}/rings.ics${query}`)).status).toBe(404);
  });
});
