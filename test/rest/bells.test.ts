import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";

let api: ApiFixture;
let templateId: string;
beforeAll(async () => {
  api = await openApi(makeTempDir());
  templateId = await make("/message-templates", { name: "Bell", subject: "Bell" });
});
afterAll(() => api.close());

async function make(path: string, json: object): Promise<string> {
  const answer = await api.call("POST", path, { json });
  if (answer.status !== 200) throw new Error(answer.text);
  return answer.body.id;
}

let serial = 0;
const ringList = (...times: string[]) =>
  make("/ring-lists", {
    name: `List ${++serial}`,
    entries: times.map((time) => ({ time, messageTemplateId: templateId })),
  });

/** 2031-09-01 is a Monday. */
async function schedule(more: object = {}): Promise<string> {
  const days = { numWeeks: 1, startDate: "2031-09-01", endDate: "2031-12-19", timeZone: "Europe/Berlin" };
  return make("/bell-schedules", { name: `Schedule ${++serial}`, ...days, ...more });
}

const exceptionsOf = async (id: string) => {
  const { body } = await api.call("GET", `/bell-schedules/${id}`);
  return body.bellScheduleExceptions.map(
    (each: Record<string, string | null>) =>
      `${each.startDate}..${each.endDate} ${each.ringListId ?? "silent"} ${each.description}`,
  );
};

/** The fields that a refusal names. */
async function refused(method: string, path: string, json: object): Promise<string[]> {
  const answer = await api.call(method, path, { json });
  expect([answer.status, answer.text]).toEqual([400, answer.text]);
  return answer.body.errors.map(({ field }: { field: string }) => field);
}

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
    await api.call("DELETE", `/bell-schedules/${scheduleId}`);
    expect((await api.call("DELETE", `/ring-lists/${id}`)).status).toBe(200);
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

describe("an exception for several schedules", () => {
  it("shortens, splits and removes what stands in its way", async () => {
    const exceptions = [
      { startDate: "2031-10-01", endDate: "2031-10-10", description: "split" },
      { startDate: "2031-10-12", endDate: "2031-10-13", description: "kept" },
    ];
    const split = await schedule({ bellScheduleExceptions: exceptions });
    const shortened = await schedule({
      bellScheduleExceptions: [
        { startDate: "2031-10-01", endDate: "2031-10-04", description: "end" },
        { startDate: "2031-10-05", endDate: "2031-10-05", description: "gone" },
        { startDate: "2031-10-06", endDate: "2031-10-09", description: "begin" },
      ],
    });
    const elsewhere = await schedule({ startDate: "2032-01-01", endDate: "2032-02-01" });
    const id = await ringList("10:00:00");
    const json = { startDate: "2031-10-03", endDate: "2031-10-06", ringListId: id, description: "new" };
    const bellScheduleIds = [split, shortened, elsewhere];
    const answer = await api.call("POST", "/bell-schedules-bulk-exceptions", { json: { ...json, bellScheduleIds } });
    expect(answer.body).toMatchObject({ ...json, allBellSchedules: false, bellScheduleIds });
    expect(answer.body.schedulesAffected.map((each: { id: string }) => each.id)).toEqual([split, shortened]);
    expect(await exceptionsOf(split)).toEqual([
      "2031-10-01..2031-10-02 silent split",
      `2031-10-03..2031-10-06 ${id} new`,
      "2031-10-07..2031-10-10 silent split",
      "2031-10-12..2031-10-13 silent kept",
    ]);
    expect(await exceptionsOf(shortened)).toEqual([
      "2031-10-01..2031-10-02 silent end",
      `2031-10-03..2031-10-06 ${id} new`,
      "2031-10-07..2031-10-09 silent begin",
    ]);
    expect(await exceptionsOf(elsewhere)).toEqual([]);
  });

  it("goes to all or to none, and to those alone that the caller may change", async () => {
    const id = await schedule();
    const json = { startDate: "2031-11-01", endDate: "2031-11-01" };
    const post = "/bell-schedules-bulk-exceptions";
    expect(await refused("POST", post, json)).toEqual(["bellScheduleIds"]);
    expect(await refused("POST", post, { ...json, endDate: "2031-10-31", bellScheduleIds: [id] })).toEqual(["endDate"]);
    const unknown = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";
    expect(await refused("POST", post, { ...json, bellScheduleIds: [id, unknown] })).toEqual(["bellScheduleIds"]);
    expect(await refused("POST", post, { ...json, bellScheduleIds: [id], ringListId: unknown })).toEqual([
      "ringListId",
    ]);
    const { token } = await api.user("Bell ringer", `post ${post}`, "get /bell-schedules/*");
    const denied = await api.call("POST", post, { token, json: { ...json, bellScheduleIds: [id] } });
    expect([denied.status, await exceptionsOf(id)]).toEqual([403, []]);
    const none = await api.call("POST", post, { token, json: { ...json, allBellSchedules: true } });
    expect(none.body.schedulesAffected).toEqual([]);
    const all = await api.call("POST", post, { json: { ...json, allBellSchedules: true, bellScheduleIds: [unknown] } });
    expect(all.body).toMatchObject({ bellScheduleIds: [], ringListId: null });
    expect(all.body.schedulesAffected).toContainEqual({ id, name: expect.any(String) });
    expect(await exceptionsOf(id)).toEqual(["2031-11-01..2031-11-01 silent null"]);
    expect((await api.call("GET", post)).status).toBe(405);
  });
});

describe("a change of the day", () => {
  const change = (json: object) => api.call("POST", "/bell-schedules-day-changes", { json });

  it("delays what rings on that day and comes back when it is taken back", async () => {
    const [weekday, exam] = [await ringList("08:00:00"), await ringList("09:00:00")];
    const bellScheduleEntries = [0, 1, 2, 3, 4].map((entryNum) => ({ entryNum, ringListId: weekday }));
    const exams = { startDate: "2031-10-08", endDate: "2031-10-10", ringListId: exam, description: "Exams" };
    const id = await schedule({ bellScheduleEntries, bellScheduleExceptions: [exams] });
    const before = await exceptionsOf(id);
    const days = { startDate: "2031-10-06", endDate: "2031-10-12", bellScheduleIds: [id] };
    const delay = await change({ kind: "delay", minutes: 60, description: "Ice", ...days });
    expect(delay.body).toMatchObject({
      kind: "delay",
      schedulesAffected: [{ id }],
      endsAt: "2031-10-13T12:00:00.000Z",
    });
    // Saturday and Sunday are silent and stay as they are.
    expect(await exceptionsOf(id)).toEqual([
      `2031-10-06..2031-10-07 ${weekday} Ice`,
      `2031-10-08..2031-10-10 ${exam} Ice`,
    ]);
    const mute = await change({
      kind: "mute",
      from: "10:00",
      until: "09:30",
      ...days,
      startDate: "2031-10-09",
      endDate: "2031-10-10",
    });
    const { body } = await api.call("GET", `/bell-schedules/${id}`);
    expect(body.bellScheduleExceptions.slice(2)).toMatchObject([
      { startDate: "2031-10-09", dayChangeId: mute.body.id, ringListChanges: ["delay 60", "mute 10:00:00 24:00:00"] },
      { startDate: "2031-10-10", dayChangeId: mute.body.id, ringListChanges: ["delay 60", "mute 00:00:00 09:30:00"] },
    ]);
    expect((await api.call("DELETE", `/bell-schedules-day-changes/${delay.body.id}`)).status).toBe(409);
    // A client that sends the exceptions back as it got them changes nothing.
    await api.call("PUT", `/bell-schedules/${id}`, { json: { bellScheduleExceptions: body.bellScheduleExceptions } });
    expect((await api.call("DELETE", `/bell-schedules-day-changes/${mute.body.id}`)).status).toBe(200);
    expect((await api.call("DELETE", `/bell-schedules-day-changes/${delay.body.id}`)).status).toBe(200);
    expect(await exceptionsOf(id)).toEqual(before);
  });

  it("rings as another day, not at all, or ends early, for all schedules at once", async () => {
    const [monday, friday] = [await ringList("08:00:00"), await ringList("08:30:00")];
    const bellScheduleEntries = [
      { entryNum: 0, ringListId: monday },
      { entryNum: 4, ringListId: friday },
    ];
    const id = await schedule({ startDate: "2041-09-02", endDate: "2041-12-20", bellScheduleEntries });
    const all = { allBellSchedules: true };
    const other = { kind: "other-day", startDate: "2041-09-09", ...all };
    const likeMonday = await change({ ...other, likeDate: "2041-09-16" });
    expect(likeMonday.body.schedulesAffected).toEqual([]);
    const like = await change({ ...other, likeDate: "2041-09-06" });
    expect(like.body).toMatchObject({ endDate: "2041-09-09", schedulesAffected: [{ id }] });
    await change({ kind: "other-day", startDate: "2041-09-11", ringListId: friday, ...all });
    await change({ kind: "no-bells", startDate: "2041-09-16", description: "Snow", ...all });
    await change({ kind: "early-dismissal", startDate: "2041-09-23", until: "12:00", ...all });
    await change({ kind: "mute-hours", startDate: "2041-09-30", from: "08:00", until: "24:00", ...all });
    const { body } = await api.call("GET", `/bell-schedules/${id}`);
    const shown = body.bellScheduleExceptions.map(
      (each: { startDate: string; ringListId: string; ringListChanges: string[] }) => [
        each.startDate,
        each.ringListId,
        ...each.ringListChanges,
      ],
    );
    expect(shown).toEqual([
      ["2041-09-09", friday],
      ["2041-09-11", friday],
      ["2041-09-16", null],
      ["2041-09-23", monday, "end 12:00:00"],
      ["2041-09-30", monday, "mute 08:00:00 24:00:00"],
    ]);
  });

  it("is refused where it says too little or contradicts itself", async () => {
    const bellScheduleIds = [await schedule()];
    const wrong = (json: object) =>
      refused("POST", "/bell-schedules-day-changes", { startDate: "2031-10-06", bellScheduleIds, ...json });
    expect(await wrong({ kind: "delay" })).toEqual(["minutes"]);
    expect(await wrong({ kind: "delay", minutes: 0 })).toEqual(["minutes"]);
    expect(await wrong({ kind: "early-dismissal", until: "24:00" })).toEqual(["until"]);
    expect(await wrong({ kind: "other-day" })).toEqual(["ringListId"]);
    expect(await wrong({ kind: "mute-hours", from: "10:00", until: "09:00" })).toEqual(["until"]);
    expect(await wrong({ kind: "mute" })).toEqual(["until"]);
    expect(await wrong({ kind: "no-bells", endDate: "2032-10-06" })).toEqual(["endDate"]);
    expect(await wrong({ kind: "no-bells", endDate: "2031-10-05" })).toEqual(["endDate"]);
    expect(await wrong({ kind: "no-bells", bellScheduleIds: [] })).toEqual(["bellScheduleIds"]);
    expect(await wrong({ kind: "later" })).toEqual(["kind"]);
  });
});
