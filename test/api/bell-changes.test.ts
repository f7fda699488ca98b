import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  createBulkChange,
  type ExceptionEdit,
  resumeBulkChange,
  revertBulkChange,
  unfinishedChanges,
} from "../../src/bells/bulk-change-job.ts";
import { dayChangeEdit, dayChangeRevertEdit } from "../../src/bells/day-change-hooks.ts";
import { systemClock } from "../../src/lib/clock.ts";
import dayChanges from "../../src/resources/bells/bell-schedules-day-changes.ts";
import type { RowOf } from "../../src/schema/resource.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import { createBellFixture } from "./bell-fixture.ts";

let api: ApiFixture;
const { ringList, schedule, exceptionsOf, refused } = createBellFixture(() => api);
beforeAll(async () => {
  api = await openApi(makeTempDir());
});
afterAll(() => api.close());

describe("an exception for several schedules", () => {
  it("shortens, splits and removes overlapping exceptions", async () => {
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
  it("resumes after a crash, is reverted the same way, and becomes visible as a whole", async () => {
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
    const kept = { resource: dayChanges, read: dayChangeEdit };
    // The first write is the rehearsal of the row, the second decides.
    await expect(createBulkChange(kept, json, api.system, { store: ending(3), clock: slow })).rejects.toThrow();
    const [left] = unfinishedChanges(api.store);
    const row = api.store.get(dayChanges, left?.id ?? "") as RowOf<typeof dayChanges>;
    expect([await changed(), row.schedulesAffected, left?.back]).toEqual(
      [2, { length: 6 }, false].map((each) => (typeof each === "object" ? expect.objectContaining(each) : each)),
    );
    expect((await api.call("DELETE", `/bell-schedules-day-changes/${row.id}`)).status).toBe(409);
    const finish = (done: ExceptionEdit) =>
      resumeBulkChange({ id: row.id, changed: done }, api.system, {
        store: api.store,
        clock: slow,
        signal: new AbortController().signal,
      });
    await finish(dayChangeEdit(row, api.store, api.system));
    expect([await changed(), unfinishedChanges(api.store)]).toEqual([6, []]);
    const back = { resource: dayChanges, id: row.id, changed: dayChangeRevertEdit(row.id) };
    await expect(revertBulkChange(back, api.system, { store: ending(2), clock: slow })).rejects.toThrow();
    expect([await changed(), unfinishedChanges(api.store)[0]?.back]).toEqual([4, true]);
    await finish(dayChangeRevertEdit(row.id));
    expect([await changed(), unfinishedChanges(api.store)]).toEqual([0, []]);
  });
});

describe("a change of the day", () => {
  const change = (json: object) => api.call("POST", "/bell-schedules-day-changes", { json });

  it("delays the rings of that day and is reverted", async () => {
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

  it("is rejected if incomplete or contradictory", async () => {
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
