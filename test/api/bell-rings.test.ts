import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { insertRing } from "../../src/bells/ring-repository.ts";
import { createScheduleLint } from "../../src/bells/schedule-lint.ts";
import { createLocalTimeContext } from "../../src/bells/timetables.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { createEvents } from "../../src/lib/events.ts";
import { newId } from "../../src/lib/ids.ts";
import { silentLog } from "../../src/lib/log.ts";
import devices from "../../src/resources/devices/devices.ts";
import endpoints from "../../src/resources/devices/endpoints.ts";
import extensions from "../../src/resources/devices/extensions.ts";
import { machineZoneData } from "../../src/time-zones/zone-data.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import { createBellFixture, dateAfterDays } from "./bell-fixture.ts";

let api: ApiFixture;
let templateId: string;
const { make, message, ringList, schedule } = createBellFixture(() => api);
beforeAll(async () => {
  api = await openApi(makeTempDir());
  templateId = await message();
});
afterAll(() => api.close());

describe("the rings of a schedule", () => {
  it("are listed in pages without duplicates, in the local time of their zone", async () => {
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
      verdict: null,
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

  it("reject invalid times and page tokens", async () => {
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
    const [startDate, endDate] = [dateAfterDays(1), dateAfterDays(7)];
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
    const snow = { kind: "no-bells", startDate: dateAfterDays(2), bellScheduleIds: [made.body.id] };
    const change = await api.call("POST", "/bell-schedules-day-changes?includeRingDiff=true", { json: snow });
    expect(change.body.ringDiff).toMatchObject({ removed: { count: 1 }, added: { count: 0 } });
    const back = await api.call("DELETE", `/bell-schedules-day-changes/${change.body.id}?dryRun=true`);
    expect(back.body.ringDiff).toMatchObject({ removed: { count: 0 }, added: { count: 1 } });
    const gone = await api.call("DELETE", `/bell-schedules/${made.body.id}?dryRun=true`);
    expect(gone.body.ringDiff).toMatchObject({ removed: { count: 6 } });
    expect((await api.call("GET", `/bell-schedules/${made.body.id}`)).body).not.toHaveProperty("ringDiff");
  });
});

describe("rings at one instant on one device", () => {
  it("cause a warning, also before they are saved", async () => {
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
        name: `List ${newId()}`,
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
  it("are checked at night and soon after a write; problems become health reasons", async () => {
    const days = { startDate: dateAfterDays(1), endDate: dateAfterDays(10), timeZone: "UTC" };
    const bellScheduleEntries = [0, 1, 2, 3, 4, 5, 6];
    const of = (ringListId: string) => bellScheduleEntries.map((entryNum) => ({ entryNum, ringListId }));
    // The message names nobody, and so does the ring.
    const id = await schedule({ ...days, bellScheduleEntries: of(await ringList("08:00:00")) });
    const events = createEvents((error) => {
      throw error;
    });
    const clock: typeof systemClock = { ...systemClock, after: (_delayMs, fn) => systemClock.after(0, fn) };
    const times = createLocalTimeContext({ ownZone: () => "UTC", data: machineZoneData() });
    const check = createScheduleLint({ reader: api.store, clock, events, log: silentLog, times });
    const own = () => check.healthReasons().filter(({ code }) => code === `bells-year:${id}`);
    await check.lintAll();
    const words = expect.stringMatching(/: 10 rings have no recipients \(the first at 08:00 on /);
    expect(own()).toEqual([{ level: "yellow", code: `bells-year:${id}`, reason: words }]);
    await api.call("PUT", `/bell-schedules/${id}`, { json: { bellScheduleEntries: [] } });
    events.emit("row.changed", { seq: 1, resource: "bell-schedules", id, op: "update" });
    await expect.poll(own).toEqual([]);
    await check.stop();
  });
});

describe("the next rings of all schedules", () => {
  it("contain planned rings of the schedules that the caller may see", async () => {
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
