import ICAL from "ical.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../src/base/clock.ts";
import { createEvents } from "../../src/base/events.ts";
import { newId } from "../../src/base/ids.ts";
import { silentLog } from "../../src/base/log.ts";
import { exceptionsWith, exceptionsWithout } from "../../src/bells/day-change-behaviour.ts";
import { insertRing } from "../../src/bells/ring-book.ts";
import {
  type ExceptionChange,
  finishChange,
  leftChanges,
  makeChange,
  takeChangeBack,
} from "../../src/bells/sliced-changes.ts";
import { createYearCheck } from "../../src/bells/year-check.ts";
import { createZones } from "../../src/bells/zones.ts";
import dayChanges from "../../src/resources/bells/bell-schedules-day-changes.ts";
import devices from "../../src/resources/devices/devices.ts";
import endpoints from "../../src/resources/devices/endpoints.ts";
import extensions from "../../src/resources/devices/extensions.ts";
import type { RowOf } from "../../src/schema/resource.ts";
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

const NOW = Date.now();
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

describe("a change of many schedules", () => {
  it("goes on after a crash where it was, is taken back likewise, and is seen whole in the end", async () => {
    const ids: string[] = [];
    for (let nth = 0; nth < 6; nth++) ids.push(await schedule({ startDate: "2061-09-01", endDate: "2061-12-20" }));
    const json = {
      kind: "other-day",
      startDate: "2061-10-03",
      ringListId: await ringList("09:00:00"),
      bellScheduleIds: ids,
    };
    const changed = async () => (await Promise.all(ids.map(exceptionsOf))).filter((each) => each.length > 0).length;
    let moment = 0;
    const slow = { ...systemClock, monotonicMs: () => (moment += 10) };
    /** A store that ends after some writes. */
    const ending = (writes: number) => {
      let left = writes;
      const gone = () => Promise.reject(new Error("the process ended"));
      const write: typeof api.store.write = (fn, lane) => (left-- > 0 ? api.store.write(fn, lane) : gone());
      return { ...api.store, write };
    };
    const kept = { resource: dayChanges, read: exceptionsWith };
    // The first write is the rehearsal of the row, the second decides.
    await expect(makeChange(kept, json, api.system, { store: ending(3), clock: slow })).rejects.toThrow();
    const [left] = leftChanges(api.store);
    const row = api.store.get(dayChanges, left?.id ?? "") as RowOf<typeof dayChanges>;
    expect([await changed(), row.schedulesAffected, left?.back]).toEqual(
      [2, { length: 6 }, false].map((each) => (typeof each === "object" ? expect.objectContaining(each) : each)),
    );
    expect((await api.call("DELETE", `/bell-schedules-day-changes/${row.id}`)).status).toBe(409);
    const finish = (done: ExceptionChange) =>
      finishChange({ id: row.id, changed: done }, api.system, {
        store: api.store,
        clock: slow,
        signal: new AbortController().signal,
      });
    await finish(exceptionsWith(row, api.store, api.system));
    expect([await changed(), leftChanges(api.store)]).toEqual([6, []]);
    const back = { resource: dayChanges, id: row.id, changed: exceptionsWithout(row.id) };
    await expect(takeChangeBack(back, api.system, { store: ending(2), clock: slow })).rejects.toThrow();
    expect([await changed(), leftChanges(api.store)[0]?.back]).toEqual([4, true]);
    await finish(exceptionsWithout(row.id));
    expect([await changed(), leftChanges(api.store)]).toEqual([0, []]);
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

  it("moves one ring of one day, the difference first", async () => {
    const list = await ringList("08:00:00", "12:00:00");
    const bellScheduleEntries = [0, 1, 2, 3, 4].map((entryNum) => ({ entryNum, ringListId: list }));
    const id = await schedule({ bellScheduleEntries });
    const other = await schedule({ bellScheduleEntries: [{ entryNum: 0, ringListId: await ringList("08:00:00") }] });
    const [, noon] = (await api.call("GET", `/ring-lists/${list}`)).body.entries;
    const json = { kind: "move-ring", entryId: noon.id, until: "12:20", startDate: "2031-10-06" };
    const all = { ...json, bellScheduleIds: [id, other] };
    const foreseen = await api.call("POST", "/bell-schedules-day-changes?dryRun=true", { json: all });
    expect(foreseen.body).toMatchObject({ schedulesAffected: [{ id }], until: "12:20:00" });
    expect(foreseen.body.ringDiff).toMatchObject({
      ...{ added: { count: 0 }, removed: { count: 0 }, moved: { count: 1 } },
      schedules: 1,
    });
    expect(foreseen.body.ringDiff.moved.first[0]).toMatchObject({
      ...{ localDate: "2031-10-06", localTime: "12:00:00", movedTo: { localTime: "12:20:00" } },
    });
    expect(await exceptionsOf(id)).toEqual([]);
    const made = await change(all);
    const timesOn = async (day: string, next: string) => {
      const { body } = await api.call("GET", `/bell-schedules/${id}/rings?from=${day}&to=${next}`);
      return body.data.map((ring: { localTime: string }) => ring.localTime);
    };
    expect(await timesOn("2031-10-06", "2031-10-07")).toEqual(["08:00:00", "12:20:00"]);
    expect(await timesOn("2031-10-07", "2031-10-08")).toEqual(["08:00:00", "12:00:00"]);
    // The exception can be written back as it is read.
    const { body } = await api.call("GET", `/bell-schedules/${id}`);
    const again = await api.call("PUT", `/bell-schedules/${id}`, {
      json: { bellScheduleExceptions: body.bellScheduleExceptions },
    });
    expect(again.status).toBe(200);
    await api.call("DELETE", `/bell-schedules-day-changes/${made.body.id}`);
    expect(await timesOn("2031-10-06", "2031-10-07")).toEqual(["08:00:00", "12:00:00"]);
    expect(await refused("POST", "/bell-schedules-day-changes", { ...all, entryId: id })).toEqual(["entryId"]);
    expect(await refused("POST", "/bell-schedules-day-changes", { ...all, entryId: null })).toEqual(["entryId"]);
    expect(await refused("POST", "/bell-schedules-day-changes", { ...all, until: null })).toEqual(["until"]);
    expect(await refused("POST", "/bell-schedules-day-changes", { ...all, until: "24:00" })).toEqual(["until"]);
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

describe("the rings of a schedule", () => {
  it("are listed in pages, each once, in the local times of its zone", async () => {
    const id = await ringList("08:00:00", "12:00:00");
    // The clocks go back on 2031-10-26.
    const bellScheduleEntries = [0, 4].map((entryNum) => ({ entryNum, ringListId: id }));
    const scheduleId = await schedule({ bellScheduleEntries });
    const at = `/bell-schedules/${scheduleId}/rings?from=2031-10-24&to=2031-10-28`;
    const all = await api.call("GET", at);
    expect(all.body).toMatchObject({ total: 4, partial: false, previous: null, next: null });
    const { entries } = (await api.call("GET", `/ring-lists/${id}`)).body;
    expect(all.body.data[0]).toEqual({
      id: expect.any(String),
      at: "2031-10-24T06:00:00.000Z",
      localDate: "2031-10-24",
      localTime: "08:00:00",
      ringListId: id,
      entryId: entries[0].id,
      messageTemplateId: templateId,
      state: "planned",
      playedAlone: 0,
    });
    expect(all.body.data[2].at).toBe("2031-10-27T07:00:00.000Z");
    const seen: unknown[] = [];
    for (let next = ""; next !== null; ) {
      const page = await api.call("GET", `${at}&limit=3${next && `&start=${encodeURIComponent(next)}`}`);
      expect(page.body).toMatchObject({ total: 4, partial: true });
      seen.push(...page.body.data);
      next = page.body.next;
    }
    expect(seen).toEqual(all.body.data);
    const last = await api.call("GET", `${at}&limit=3&start=end&include-total=false`);
    expect([last.body.data, last.body.total]).toEqual([all.body.data.slice(1), undefined]);
    const first = await api.call("GET", `${at}&limit=3&start=${encodeURIComponent(last.body.previous)}`);
    expect([first.body.data, first.body.previous]).toEqual([all.body.data.slice(0, 1), null]);
  });

  it("are refused for times and pages that make no sense", async () => {
    const at = `/bell-schedules/${await schedule()}/rings`;
    const wrong = async (query: string) => (await api.call("GET", `${at}?${query}`)).body.errors?.[0].field;
    expect(await wrong("from=yesterday")).toBe("from");
    expect(await wrong("from=2031-10-24&to=2031-10-23")).toBe("to");
    expect(await wrong("from=2031-10-24&to=2033-10-23")).toBe("to");
    expect(await wrong("limit=0")).toBe("limit");
    expect(await wrong("start=bm8=")).toBe("start");
    const { token } = await api.user("Nobody");
    expect((await api.call("GET", at, { token })).status).toBe(403);
  });

  it("come, go and move as a write says that they would", async () => {
    const [morning, noon] = ["08:00:00", "12:00:00"];
    const id = await ringList(morning, noon);
    const [startDate, endDate] = [dayFromNow(1), dayFromNow(7)];
    const bellScheduleEntries = [0, 1, 2, 3, 4, 5, 6].map((entryNum) => ({ entryNum, ringListId: id }));
    const json = { name: "Week", numWeeks: 1, startDate, endDate, timeZone: "UTC", bellScheduleEntries };
    const foreseen = await api.call("POST", "/bell-schedules?dryRun=true", { json });
    expect(foreseen.body.ringDiff).toMatchObject({ schedules: 1, partial: false, added: { count: 14 } });
    const made = await api.call("POST", "/bell-schedules?includeRingDiff=true", { json });
    expect(made.body.ringDiff.added).toMatchObject({ count: 14, first: { length: 14 } });
    expect(made.body.ringDiff.added.first[0]).toMatchObject({ at: `${startDate}T08:00:00.000Z`, localTime: morning });
    const { entries } = (await api.call("GET", `/ring-lists/${id}`)).body;
    const moved = await api.call("PUT", `/ring-lists/${id}?includeRingDiff=true`, {
      json: { entries: [{ ...entries[0], time: "08:10:00" }] },
    });
    const { added, removed, moved: changed } = moved.body.ringDiff;
    expect([added.count, removed.count, changed.count]).toEqual([0, 7, 7]);
    expect(changed.first[0]).toMatchObject({
      localTime: morning,
      movedTo: { at: `${startDate}T08:10:00.000Z`, localTime: "08:10:00" },
    });
    const snow = { kind: "no-bells", startDate: dayFromNow(2), bellScheduleIds: [made.body.id] };
    const change = await api.call("POST", "/bell-schedules-day-changes?includeRingDiff=true", { json: snow });
    expect(change.body.ringDiff).toMatchObject({ removed: { count: 1 }, added: { count: 0 } });
    const back = await api.call("DELETE", `/bell-schedules-day-changes/${change.body.id}?dryRun=true`);
    expect(back.body.ringDiff).toMatchObject({ removed: { count: 0 }, added: { count: 1 } });
    const gone = await api.call("DELETE", `/bell-schedules/${made.body.id}?dryRun=true`);
    expect(gone.body.ringDiff).toMatchObject({ removed: { count: 6 } });
    expect((await api.call("GET", `/bell-schedules/${made.body.id}`)).body).not.toHaveProperty("ringDiff");
  });
});

function dayFromNow(days: number): string {
  return new Date(NOW + days * 86_400_000).toISOString().slice(0, 10);
}

describe("rings at one instant on one device", () => {
  it("are warned of, before they are saved too", async () => {
    const extension = await api.store.create(extensions, { name: "e", type: "endpoint-proxy" }, api.system);
    const endpoint = await api.store.create(endpoints, { extensionId: extension.id, name: "p" }, api.system);
    for (const description of ["North 1", "North 2", "South 1"]) {
      const place = { extensionId: extension.id, endpointId: endpoint.id, type: "phones" };
      await api.store.create(devices, { ...place, deviceIdentifier: `SEP${description}`, description }, api.system);
    }
    const group = (name: string, value: string) =>
      make("/device-groups", { name, filters: [{ attribute: "Description", comparison: "CONTAINS", value }] });
    const [north, first, south] = [await group("N", "North"), await group("1", "1"), await group("S", "South")];
    const message = await make("/message-templates", { name: "To the north", subject: "N", deviceGroupIds: [north] });
    const list = (more: object) =>
      make("/ring-lists", {
        name: `List ${++serial}`,
        entries: [{ time: "08:00:00", messageTemplateId: message, ...more }],
      });
    const days = { startDate: "2051-09-04", endDate: "2051-09-10", numWeeks: 1 };
    const daily = (ringListId: string) => [0, 1, 2, 3, 4, 5, 6].map((entryNum) => ({ entryNum, ringListId }));
    const made = (ringListId: string, timeZone: string) =>
      schedule({ ...days, timeZone, bellScheduleEntries: daily(ringListId) });
    // 8:00 in Berlin is 7:00 in London, and the south has no device of the north.
    const own = await made(await list({}), "Europe/Berlin");
    const same = await made(await list({ deviceGroupIds: [first] }), "Europe/Paris");
    await made(await list({ deviceGroupIds: [first] }), "Europe/London");
    await made(await list({ deviceGroupIds: [south] }), "Europe/Berlin");
    const found = await api.call("GET", `/bell-schedules/${own}/overlaps?from=2051-09-04&to=2051-09-06`);
    expect(found.body).toMatchObject({ total: 2, data: [{ devices: 1 }, { localDate: "2051-09-05" }] });
    expect(found.body.data[0]).toMatchObject({ bellScheduleId: own, at: "2051-09-04T06:00:00.000Z" });
    expect(found.body.data.map((each: { other: object }) => each.other)).toMatchObject([
      { bellScheduleId: same },
      { bellScheduleId: same },
    ]);
    const json = { name: "New", timeZone: "Europe/London", bellScheduleEntries: daily(await list({})), ...days };
    const foreseen = await api.call("POST", "/bell-schedules?dryRun=true", { json });
    expect(foreseen.body.ringDiff).toMatchObject({ added: { count: 7 }, overlaps: { count: 6, first: { length: 6 } } });
    // Those that were there before are not new, at whatever time of the day both come.
    const delay = { kind: "delay", minutes: 60, startDate: "2051-09-04", endDate: "2051-09-05" };
    const newOnes = async (bellScheduleIds: string[]) => {
      const answer = await api.call("POST", "/bell-schedules-day-changes?dryRun=true", {
        json: { ...delay, bellScheduleIds },
      });
      const { moved, overlaps } = answer.body.ringDiff;
      return [moved.count, overlaps.first.map((each: { localTime: string }) => each.localTime)];
    };
    expect(await newOnes([own, same])).toEqual([4, ["09:00:00", "09:00:00", "09:00:00", "09:00:00"]]);
    expect(await newOnes([own])).toEqual([2, ["09:00:00", "09:00:00"]]);
    const wrong = await api.call("GET", `/bell-schedules/${own}/overlaps?from=2051-09-04&to=2051-11-06`);
    expect(wrong.body.errors[0].field).toBe("to");
  });
});

describe("the rings of the next year", () => {
  it("are looked through by night and soon after a write; what is wrong is a reason", async () => {
    const days = { startDate: dayFromNow(1), endDate: dayFromNow(10), timeZone: "UTC" };
    const bellScheduleEntries = [0, 1, 2, 3, 4, 5, 6];
    const of = (ringListId: string) => bellScheduleEntries.map((entryNum) => ({ entryNum, ringListId }));
    // The message names nobody, and so does the ring.
    const id = await schedule({ ...days, bellScheduleEntries: of(await ringList("08:00:00")) });
    const events = createEvents((error) => {
      throw error;
    });
    const clock: typeof systemClock = { ...systemClock, after: (_delayMs, fn) => systemClock.after(0, fn) };
    const times = { zones: createZones(), ownZone: () => "UTC" };
    const check = createYearCheck({ reader: api.store, clock, events, log: silentLog, times });
    const own = () => check.source().filter(({ code }) => code === `bells-year:${id}`);
    await check.run();
    const words = expect.stringMatching(/: 10 rings reach nobody \(the first at 08:00 on /);
    expect(own()).toEqual([{ level: "yellow", code: `bells-year:${id}`, reason: words }]);
    await api.call("PUT", `/bell-schedules/${id}`, { json: { bellScheduleEntries: [] } });
    events.emit("row.changed", { seq: 1, resource: "bell-schedules", id, op: "update" });
    await expect.poll(own).toEqual([]);
    await check.stop();
  });
});

describe("the next rings of all schedules", () => {
  it("are those that are planned, of schedules that the caller may see", async () => {
    const id = await schedule();
    const entryId = "01900000-0000-7000-8000-000000000001";
    const ring = { ...{ ringListId: entryId, entryId, messageTemplateId: templateId }, localDate: "2031-09-01" };
    const at = Date.parse("2031-09-01T06:00:00Z");
    await api.store.write((tx) => {
      insertRing(tx, "bell", id, { ...ring, id: newId(), at: at + 60_000, localTime: "08:01:00" });
      insertRing(tx, "bell", id, { ...ring, id: newId(), at, localTime: "08:00:00" });
      insertRing(tx, "bell", newId(), { ...ring, id: newId(), at, localTime: "08:00:00" });
      insertRing(tx, "message", id, { ...ring, id: newId(), at, localTime: "08:02:00" });
    });
    const { body } = await api.call("GET", "/bell-rings");
    expect(body.data).toMatchObject([
      { at: "2031-09-01T06:00:00.000Z", state: "planned", bellSchedule: { id }, messageTemplate: { name: "Bell" } },
      { localTime: "08:01:00" },
    ]);
    expect((await api.call("GET", "/bell-rings?limit=1")).body.data).toHaveLength(1);
    expect((await api.call("GET", "/bell-rings?limit=0")).status).toBe(400);
    await api.store.write((tx) => void tx.run("DELETE FROM bell_rings"));
  });
});

describe("scheduled messages and clearings", () => {
  const post = (json: object) =>
    api.call("POST", "/scheduled-notifications", {
      json: { name: "Daily", messageTemplateId: templateId, timeZone: "Europe/Berlin", ...json },
    });

  it("tell when they come next", async () => {
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
    expect((await api.call("GET", summer)).body.nextFireTimes).toEqual(["2031-07-01T16:00:00.000Z"]);
    const json = { name: "Early", messageTemplateId: templateId, timeZone: "Europe/Berlin" };
    const path = "/scheduled-notifications?dryRun=true&includeNextFireTimes=true";
    const early = (await api.call("POST", path, { json: { ...json, schedule: "0 30 2 ? 3 SUN 2031" } })).body;
    // On the last Sunday the clocks leave out half past two.
    expect(early.nextFireTimes).toEqual(
      ["02T01:30", "09T01:30", "16T01:30", "23T01:30", "30T01:00"].map((at) => `2031-03-${at}:00.000Z`),
    );
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
  });

  it("follow the rings by an address that is good until it is taken away", async () => {
    const list = await ringList("08:00:00");
    const bellScheduleEntries = [0, 1, 2, 3, 4, 5, 6].map((entryNum) => ({ entryNum, ringListId: list }));
    const days = { startDate: dayFromNow(1), endDate: dayFromNow(5), timeZone: "UTC" };
    const bellScheduleExceptions = [
      { startDate: dayFromNow(2), endDate: dayFromNow(2), description: "Wörter; ".repeat(20) },
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
      `${dayFromNow(2)} ${"Wörter; ".repeat(20)}`,
      ...[1, 3, 4, 5].map((day) => `${dayFromNow(day)}T08:00:00Z Bell`),
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
