import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createFakeClock, type FakeClock } from "../support/fake-clock.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import { type BellFixture, createBellFixture } from "./bell-fixture.ts";
import type { ReceivedResponse } from "./http-client.ts";

type Serve = (request: IncomingMessage, response: ServerResponse) => void;

/** Monday, 1 September 2031, 06:00 in Berlin. */
const START = Date.UTC(2031, 8, 1, 4);
const PATH = "/private-5f2c9a/basic.ics";

let server: Server;
let base: string;
let serve: Serve;
let requests: IncomingMessage[];
let clock: FakeClock;
let api: ApiFixture;
let bells: BellFixture;
beforeAll(async () => {
  server = createServer((request, response) => {
    requests.push(request);
    serve(request, response);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  clock = createFakeClock(START);
  api = await openApi(makeTempDir(), { clock, allowedTargets: ["127.0.0.1"] });
  bells = createBellFixture(() => api);
});
beforeEach(() => {
  requests = [];
});
afterEach(() => setTime(START));
afterAll(async () => {
  await api.close();
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});

function setTime(at: number): void {
  clock.stepWallClock(at - clock.now());
}

/** A calendar of all-day events: `20311003` or `20311013/20311018` (the end is not part of it). */
function calendarOf(...days: readonly string[]): string {
  const events = days.flatMap((span, at) => {
    const [first, end] = span.split("/");
    const dates = [`DTSTART;VALUE=DATE:${first}`, ...(end ? [`DTEND;VALUE=DATE:${end}`] : [])];
    return ["BEGIN:VEVENT", `UID:${at}`, `SUMMARY:Holiday ${at + 1}`, ...dates, "END:VEVENT"];
  });
  return ["BEGIN:VCALENDAR", "VERSION:2.0", ...events, "END:VCALENDAR", ""].join("\r\n");
}

const ok =
  (text: string | Buffer, headers: Record<string, string> = {}): Serve =>
  (_request, response) =>
    void response.writeHead(200, { "content-type": "text/calendar", ...headers }).end(text);
const status =
  (code: number, headers: Record<string, string> = {}, text = ""): Serve =>
  (_request, response) =>
    void response.writeHead(code, headers).end(text);

/** A schedule that rings at 08:00 on every weekday. */
async function schoolDays(more: object = {}): Promise<string> {
  const ringListId = await bells.ringList("08:00");
  const bellScheduleEntries = [0, 1, 2, 3, 4].map((entryNum) => ({ entryNum, ringListId }));
  return bells.schedule({ bellScheduleEntries, ...more });
}

async function subscribe(bellScheduleIds: readonly string[], more: object = {}): Promise<string> {
  return bells.make("/calendar-subscriptions", { name: "District", url: `${base}${PATH}`, bellScheduleIds, ...more });
}

async function refresh(id: string): Promise<ReceivedResponse["body"]> {
  const answer = await api.call("POST", `/calendar-subscriptions/${id}/refresh`);
  expect([answer.status, answer.text]).toEqual([200, answer.text]);
  return answer.body;
}

const confirm = (id: string, json: object = {}): Promise<ReceivedResponse> =>
  api.call("POST", `/calendar-subscriptions/${id}/confirmation`, { json });

/** Eight days from 3 October on. */
const AUTUMN = ["20311003", "20311013/20311018", "20311031", "20311119"];
const AUTUMN_SPANS = [
  "2031-10-03..2031-10-03 silent Holiday 1",
  "2031-10-13..2031-10-17 silent Holiday 2",
  "2031-10-31..2031-10-31 silent Holiday 3",
  "2031-11-19..2031-11-19 silent Holiday 4",
];

describe("a subscribed calendar", () => {
  it("silences its days, and asks whether it changed", async () => {
    serve = ok(calendarOf(...AUTUMN), { etag: '"v1"', "last-modified": "Mon, 01 Sep 2031 00:00:00 GMT" });
    const [first, second] = [await schoolDays(), await schoolDays({ timeZone: "America/New_York" })];
    const id = await subscribe([first, second]);
    const read = await refresh(id);
    expect(read).toMatchObject({ state: "current", days: 16, host: new URL(base).host, pendingId: null });
    expect(read.lastChanges.rings).toMatchObject({ silenced: 16, moved: 0 });
    expect(await bells.exceptionsOf(first)).toEqual(AUTUMN_SPANS);
    expect(await bells.exceptionsOf(second)).toEqual(AUTUMN_SPANS);
    serve = status(304);
    expect(await refresh(id)).toMatchObject({ state: "current", days: 16 });
    expect(requests.at(-1)?.headers).toMatchObject({
      "if-none-match": '"v1"',
      "if-modified-since": "Mon, 01 Sep 2031 00:00:00 GMT",
    });
  });

  it("never shows its address, which may hold a token", async () => {
    serve = ok(calendarOf(...AUTUMN));
    const id = await subscribe([await schoolDays()], { url: `${base}${PATH}?key=s3cret-token` });
    const shown = await refresh(id);
    serve = status(404);
    const failed = await refresh(id);
    const audit = await api.call("GET", "/audit");
    const list = await api.call("GET", "/calendar-subscriptions");
    for (const text of [JSON.stringify(shown), JSON.stringify(failed), audit.text, list.text, api.logText()]) {
      expect(text).not.toContain("s3cret-token");
      expect(text).not.toContain("private-5f2c9a");
    }
    const [stored] = api.store.all<{ url: string }>("SELECT url FROM calendar_subscriptions");
    expect(stored?.url).toMatch(/^v1:/);
  });

  it("waits with days that would silence bells of the next 24 hours until they are confirmed", async () => {
    serve = ok(calendarOf(...AUTUMN));
    const schedule = await schoolDays();
    const id = await subscribe([schedule]);
    await refresh(id);
    // Today at 08:00 and tomorrow at 08:00 are 2 and 26 hours away.
    serve = ok(calendarOf(...AUTUMN, "20310901", "20310902", "20310906"));
    const waiting = await refresh(id);
    expect(waiting).toMatchObject({ state: "waiting", days: 10 });
    expect(waiting.reason).toBe(
      "1 bell would be silent within 24 hours, first on 2031-09-01 (Holiday 5). Confirm the change.",
    );
    expect(waiting.pendingChanges).toMatchObject({
      schedules: [
        { bellScheduleId: schedule, added: [{ startDate: "2031-09-01", endDate: "2031-09-01" }], removed: [] },
      ],
      rings: { silenced: 1, first: [{ localDate: "2031-09-01", localTime: "08:00:00" }] },
    });
    expect((await bells.exceptionsOf(schedule))[0]).toBe("2031-09-02..2031-09-02 silent Holiday 6");
    expect((await confirm(id, { pendingId: "another" })).status).toBe(409);
    const confirmed = await confirm(id, { pendingId: waiting.pendingId });
    expect(confirmed.body).toMatchObject({ state: "current", days: 11, pendingId: null, pendingChanges: null });
    expect((await bells.exceptionsOf(schedule))[0]).toBe("2031-09-01..2031-09-01 silent Holiday 5");
    expect((await confirm(id)).status).toBe(409);
  });

  it.each([
    [0, 0, "current"],
    [60, 59, "waiting"],
    [60, 60, "current"],
    [null, 1_000, "waiting"],
  ])(
    "applies near days by itself after %s minutes; %s minutes later it is %s",
    async (autoConfirmMinutes, later, state) => {
      serve = ok(calendarOf("20310902", ...AUTUMN));
      setTime(Date.UTC(2031, 8, 1, 8));
      const id = await subscribe([await schoolDays()], { autoConfirmMinutes });
      const first = await refresh(id);
      expect(first.state).toBe(autoConfirmMinutes === 0 ? "current" : "waiting");
      setTime(Date.UTC(2031, 8, 1, 8) + later * 60_000);
      // After 1,000 minutes the bell of the next day is still ahead.
      expect((await refresh(id)).state).toBe(state);
    },
  );

  it.each<[string, Serve, string, RegExp]>([
    ["is gone", status(404), "failed", /no longer exists at this address \(status 404\)/],
    ["is gone for good", status(410), "failed", /status 410/],
    ["is refused", status(403), "failed", /refuses to return the calendar/],
    ["is a web page", ok("<!DOCTYPE html><html>Log in</html>"), "failed", /web page instead of a calendar/],
    ["is a web page after blank lines", ok("\r\n \r\n<html></html>"), "failed", /web page/],
    ["is empty", ok(""), "failed", /empty file/],
    ["has no events", ok(calendarOf()), "failed", /has no events/],
    ["is JSON", ok('{"error":"expired"}'), "failed", /does not return a calendar/],
    ["is cut off", ok(calendarOf(...AUTUMN).slice(0, -60)), "failed", /The calendar is cut off: END:VEVENT is missing/],
    [
      "has no readable event",
      ok(calendarOf("20311340")),
      "failed",
      /Event 1 \(Holiday 1\): DTSTART is not a valid date/,
    ],
    ["is huge", ok(Buffer.alloc(5_000_000, "BEGIN:VCALENDAR\n")), "failed", /longer than 4194304 bytes/],
    ["has a broken server", status(500), "unreachable", /status 500/],
    ["has a busy server", status(429), "unreachable", /status 429/],
    ["is cut off by its server", (_request, response) => void response.destroy(), "unreachable", /socket hang up/],
    [
      "redirects without end",
      (request, response) => void response.writeHead(302, { location: request.url }).end(),
      "unreachable",
      /redirects more than 5 times/,
    ],
    ["redirects to a file", status(301, { location: "file:///etc/passwd" }), "unreachable", /not http or https/],
    [
      "redirects to a refused address",
      status(301, { location: "http://169.254.169.254/" }),
      "unreachable",
      /not allowed/,
    ],
    ["redirects to nowhere", status(302, { location: "http://" }), "unreachable", /not http or https/],
  ])("changes nothing when it %s", async (_kind, broken, state, reason) => {
    serve = ok(calendarOf(...AUTUMN), { etag: '"v1"' });
    const schedule = await schoolDays();
    const id = await subscribe([schedule]);
    await refresh(id);
    serve = broken;
    const failed = await refresh(id);
    expect(failed).toMatchObject({ state, reason: expect.stringMatching(reason), days: 8 });
    expect(failed.failingSince).not.toBeNull();
    expect(await bells.exceptionsOf(schedule)).toEqual(AUTUMN_SPANS);
    serve = ok(calendarOf(...AUTUMN));
    expect(await refresh(id)).toMatchObject({ state: "current", reason: null, failingSince: null });
  });

  it("gives up on a server that does not answer in time", async () => {
    serve = ok(calendarOf(...AUTUMN));
    const id = await subscribe([await schoolDays()]);
    await refresh(id);
    let began = (): void => undefined;
    const hasBegun = new Promise<void>((done) => {
      began = done;
    });
    // A byte now and then keeps a connection alive, not the time limit.
    serve = (_request, response) => {
      response.writeHead(200).write("BEGIN:VCALENDAR\r\n");
      began();
    };
    const refreshed = refresh(id);
    await hasBegun;
    await clock.advance(31_000);
    expect(await refreshed).toMatchObject({
      state: "unreachable",
      reason: expect.stringMatching(/within 30 s/),
      days: 8,
    });
  });

  it("follows redirects, relative ones and webcal too", async () => {
    serve = (request, response) => {
      if (request.url === PATH) return void response.writeHead(301, { location: "/moved" }).end();
      if (request.url === "/moved") return void response.writeHead(307, { location: `${base}/here.ics` }).end();
      return void response.end(calendarOf(...AUTUMN));
    };
    const id = await subscribe([await schoolDays()]);
    expect(await refresh(id)).toMatchObject({ state: "current", days: 8 });
  });

  it("is held when it drops too many days, until somebody confirms it", async () => {
    serve = ok(calendarOf(...AUTUMN));
    const schedule = await schoolDays();
    const id = await subscribe([schedule]);
    await refresh(id);
    // Two of eight days are 25 percent.
    serve = ok(calendarOf("20311003", "20311013/20311018"));
    expect(await refresh(id)).toMatchObject({ state: "current", days: 6 });
    serve = ok(calendarOf("20311003", "20311013/20311016"));
    const held = await refresh(id);
    expect(held).toMatchObject({ state: "held", days: 6 });
    expect(held.reason).toMatch(/drops 2 of 6 coming days; the limit is 30 %\. Nothing was changed/);
    expect(held.pendingChanges.schedules[0].removed).toEqual([
      { startDate: "2031-10-16", endDate: "2031-10-17", description: "Holiday 2" },
    ]);
    expect(await bells.exceptionsOf(schedule)).toEqual(AUTUMN_SPANS.slice(0, 2));
    serve = status(304);
    expect((await refresh(id)).state).toBe("held");
    expect((await confirm(id, { pendingId: held.pendingId })).body).toMatchObject({ state: "current", days: 4 });
    expect((await bells.exceptionsOf(schedule))[1]).toBe("2031-10-13..2031-10-15 silent Holiday 2");
  });

  it("is held when all its times move to another zone", async () => {
    const timed = (zone: string) =>
      calendarOf(...AUTUMN).replace(
        /DTSTART;VALUE=DATE:(\d+)\r\n(DTEND[^\r]*\r\n)?/g,
        `DTSTART;TZID=${zone}:$1T200000\r\nDURATION:PT1H\r\n`,
      );
    serve = ok(timed("Europe/Berlin"));
    const schedule = await schoolDays({ timeZone: "Asia/Tokyo" });
    const id = await subscribe([schedule]);
    expect(await refresh(id)).toMatchObject({ state: "current", days: 4 });
    const before = await bells.exceptionsOf(schedule);
    serve = ok(
      calendarOf(...AUTUMN).replace(
        /VALUE=DATE:(\d+)(\d\d)\r\n(DTEND[^\r]*\r\n)?/g,
        (_, month, day) =>
          `TZID=Europe/Berlin:${month}${String(Number(day) - 1).padStart(2, "0")}T200000\r\nDURATION:PT1H\r\n`,
      ),
    );
    const held = await refresh(id);
    expect(held.state).toBe("held");
    expect(await bells.exceptionsOf(schedule)).toEqual(before);
  });

  it("leaves days that are over, and days that people changed, as they are", async () => {
    serve = ok(calendarOf("20310910", ...AUTUMN));
    const schedule = await schoolDays({
      bellScheduleExceptions: [
        {
          startDate: "2031-10-14",
          endDate: "2031-10-14",
          description: "Fair",
          ringListId: await bells.ringList("10:00"),
        },
      ],
    });
    const id = await subscribe([schedule]);
    await refresh(id);
    const { body } = await api.call("GET", `/bell-schedules/${schedule}`);
    const rows: { startDate: string; calendarSubscriptionId?: string }[] = body.bellScheduleExceptions;
    expect(rows.map(({ startDate, calendarSubscriptionId }) => [startDate, calendarSubscriptionId === id])).toEqual([
      ["2031-09-10", true],
      ["2031-10-03", true],
      ["2031-10-13", true],
      ["2031-10-14", false],
      ["2031-10-15", true],
      ["2031-10-31", true],
      ["2031-11-19", true],
    ]);
    // Somebody deletes 31 October: there is school. The other days keep their calendar.
    const kept = rows.filter(({ startDate }) => startDate !== "2031-10-31");
    await api.call("PUT", `/bell-schedules/${schedule}`, { json: { bellScheduleExceptions: kept } });
    setTime(Date.UTC(2031, 8, 20));
    serve = ok(calendarOf(...AUTUMN, "20311201"));
    expect((await refresh(id)).state).toBe("current");
    const after = await bells.exceptionsOf(schedule);
    expect(after.map((text) => text.slice(0, 22))).toEqual([
      "2031-09-10..2031-09-10",
      "2031-10-03..2031-10-03",
      "2031-10-13..2031-10-13",
      "2031-10-14..2031-10-14",
      "2031-10-15..2031-10-17",
      "2031-11-19..2031-11-19",
      "2031-12-01..2031-12-01",
    ]);
  });

  it("reports events that cannot be read and applies the others", async () => {
    serve = ok(calendarOf("20311003", "20311340"));
    const id = await subscribe([await schoolDays()]);
    const read = await refresh(id);
    expect(read).toMatchObject({ state: "current", days: 1 });
    const messageSentence = { code: "calendar.date-invalid", params: { name: "DTSTART" } };
    expect(read.rejected).toEqual([
      { number: 2, summary: "Holiday 2", message: "DTSTART is not a valid date.", messageSentence },
    ]);
  });

  it("gives back the days of schedules that no longer follow it, and all of them when it is deleted", async () => {
    serve = ok(calendarOf(...AUTUMN));
    const [first, second] = [await schoolDays(), await schoolDays()];
    const id = await subscribe([first, second]);
    await refresh(id);
    await api.call("PUT", `/calendar-subscriptions/${id}`, { json: { bellScheduleIds: [second] } });
    expect(await refresh(id)).toMatchObject({ days: 8 });
    expect(await bells.exceptionsOf(first)).toEqual([]);
    expect(await bells.exceptionsOf(second)).toEqual(AUTUMN_SPANS);
    expect((await api.call("DELETE", `/calendar-subscriptions/${id}`)).status).toBe(200);
    expect(await bells.exceptionsOf(second)).toEqual([]);
    expect(api.store.all("SELECT * FROM calendar_subscription_days WHERE subscription = ?", id)).toEqual([]);
    expect(api.store.all("SELECT * FROM calendar_subscription_versions WHERE subscription = ?", id)).toEqual([]);
  });

  it("is not held when a schedule ends earlier", async () => {
    serve = ok(calendarOf(...AUTUMN));
    const schedule = await schoolDays();
    const id = await subscribe([schedule]);
    await refresh(id);
    await api.call("PUT", `/bell-schedules/${schedule}`, { json: { endDate: "2031-10-14" } });
    expect(await refresh(id)).toMatchObject({ state: "current", days: 3 });
    await api.call("PUT", `/bell-schedules/${schedule}`, { json: { endDate: "2031-12-19" } });
    expect(await refresh(id)).toMatchObject({ state: "current", days: 8 });
    expect(await bells.exceptionsOf(schedule)).toEqual(AUTUMN_SPANS);
  });

  it("uses a ring list instead of silence", async () => {
    serve = ok(calendarOf(...AUTUMN));
    const schedule = await schoolDays();
    const ringListId = await bells.ringList("10:00");
    const id = await subscribe([schedule], { ringListId });
    const read = await refresh(id);
    expect(read.lastChanges.rings.silenced).toBe(8);
    expect((await bells.exceptionsOf(schedule))[0]).toBe(`2031-10-03..2031-10-03 ${ringListId} Holiday 1`);
    expect((await api.call("DELETE", `/ring-lists/${ringListId}`)).status).toBe(409);
  });

  it.each([
    ["ftp://example.org/a.ics"],
    ["holidays.ics"],
    ["javascript:alert(1)"],
    ["http://224.0.0.1/a.ics"],
    ["http://169.254.169.254/latest"],
    ["webcal://[::1]/a.ics"],
  ])("refuses the address %s", async (url) => {
    expect(await bells.refused("POST", "/calendar-subscriptions", { name: "District", url })).toEqual(["url"]);
  });

  it("is managed by people who may change its schedules only", async () => {
    serve = ok(calendarOf("20310901", ...AUTUMN));
    const schedule = await schoolDays();
    const { token } = await api.user(
      "Secretary",
      "get /bell-schedules/*",
      "get /calendar-subscriptions/*",
      "post /calendar-subscriptions/*",
      "put /calendar-subscriptions/*",
    );
    const json = { name: "Secret", url: `${base}${PATH}`, bellScheduleIds: [schedule] };
    expect((await api.call("POST", "/calendar-subscriptions", { json, token })).status).toBe(403);
    const id = await subscribe([schedule]);
    expect((await refresh(id)).state).toBe("waiting");
    const path = `/calendar-subscriptions/${id}`;
    expect((await api.call("POST", `${path}/confirmation`, { json: {}, token })).status).toBe(403);
    expect((await api.call("PUT", path, { json: { url: `${base}/other.ics` }, token })).status).toBe(403);
  });
});
