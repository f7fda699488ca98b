import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, onTestFailed } from "vitest";
import { listAll } from "../../src/api-client/api-client.ts";
import { type BroadcastHarness, startBroadcastHarness } from "../support/broadcast-harness.ts";
import { eventually } from "../support/timeouts.ts";

const PHONES = 12;
const OFFLINE = 2;
const ZONES = 2;
const SECOND_MS = 1_000;
/** Far enough ahead that phones are asked before the ring, as on any morning. */
const AHEAD_MS = 15_000;
/** How far a machine that does other things too may be from the moment. */
const SLACK_MS = 1_000;

interface Ring {
  at: string;
  state: string;
  localTime: string;
}

interface Sent {
  id: string;
  notificationSource: string;
  subject: string;
}

let scene: BroadcastHarness;
beforeAll(async () => {
  scene = await startBroadcastHarness({ phones: PHONES, zones: ZONES, offline: OFFLINE }, 300);
}, 120_000);
afterAll(() => scene.end());

const make = async (path: string, body: Record<string, unknown>): Promise<string> =>
  (await scene.api().post<{ id: string }>(path, body)).id;

/** A schedule that rings every day at one time, with a message to all devices; answers its id. */
async function everyDay(name: string, at: number, messageTemplateId: string): Promise<string> {
  const [group] = await listAll<{ id: string }>(scene.api(), "/device-groups");
  const time = new Date(at).toISOString().slice(11, 19);
  const entries = [{ time, messageTemplateId, deviceGroupIds: [group?.id] }];
  const ringListId = await make("/ring-lists", { name, entries });
  const days = [0, 1, 2, 3, 4, 5, 6].map((entryNum) => ({ entryNum, ringListId }));
  const [startDate, endDate] = [-1, 2].map((more) => new Date(at + more * 86_400_000).toISOString().slice(0, 10));
  return make("/bell-schedules", {
    ...{ name, startDate, endDate, timeZone: "Etc/UTC", numWeeks: 1, bellScheduleEntries: days },
  });
}

const nextMoment = (): number => Math.ceil((Date.now() + AHEAD_MS) / SECOND_MS) * SECOND_MS;

const sentBells = async (): Promise<Sent[]> =>
  (await listAll<Sent>(scene.api(), "/notifications")).filter(
    ({ notificationSource }) => notificationSource === "bell-schedule",
  );

const ringAt = async (schedule: string, at: number): Promise<Ring | undefined> => {
  const around = [at - SECOND_MS, at + SECOND_MS].map((ms) => encodeURIComponent(new Date(ms).toISOString()));
  return (await listAll<Ring>(scene.api(), `/bell-schedules/${schedule}/rings?from=${around[0]}&to=${around[1]}`))[0];
};

describe("a bell", () => {
  it("plays once and on time on every reachable device, and writes a ledger", async () => {
    onTestFailed(() => console.error(scene.log()));
    const template = await make("/message-templates", { name: "Bell", subject: "First lesson", alertTone: "bell" });
    const at = nextMoment();
    const schedule = await everyDay("Every day", at, template);
    // So near its moment it is made ready as soon as it is written.
    const ahead = await ringAt(schedule, at);
    expect([ahead?.at, ["planned", "prepared"].includes(ahead?.state ?? "")]).toEqual([
      new Date(at).toISOString(),
      true,
    ]);
    await pause(at - Date.now());
    await eventually(async () => (await ringAt(schedule, at))?.state === "rung");
    const [bell, ...others] = await sentBells();
    expect([bell?.subject, others]).toEqual(["First lesson", []]);
    const lines = await scene.waitUntilFinished(bell?.id ?? "");
    const levels = lines.map(({ type, level }) => `${type} ${level}`).sort();
    expect(levels).toEqual([
      ...Array(OFFLINE).fill("phones failed"),
      ...Array(PHONES - OFFLINE).fill("phones playing"),
      ...Array(ZONES).fill("speakers sent"),
    ]);
    const { phones, zones } = await scene.simulatorReport(bell?.id ?? "");
    const starts = [...phones, ...zones].flatMap(({ firstPacketAt }) => firstPacketAt ?? []);
    expect(starts).toHaveLength(PHONES - OFFLINE + ZONES);
    console.log(`a bell was heard ${Math.min(...starts) - at} to ${Math.max(...starts) - at} ms after its moment`);
    expect(Math.max(...starts.map((start) => Math.abs(start - at)))).toBeLessThan(SLACK_MS);
  }, 180_000);

  it("stays silent if it is removed from its schedule after it was prepared, and leaves no rows", async () => {
    const template = await make("/message-templates", { name: "Other bell", subject: "Break", alertTone: "bell" });
    const at = nextMoment();
    const schedule = await everyDay("Taken back", at, template);
    await eventually(async () => (await ringAt(schedule, at))?.state === "prepared");
    const before = (await sentBells()).length - 1;
    await scene.api().put(`/bell-schedules/${schedule}`, { bellScheduleEntries: [] });
    await pause(at + SLACK_MS - Date.now());
    const heard = (await sentBells()).filter(({ subject }) => subject === "Break");
    expect([heard, (await sentBells()).length]).toEqual([[], before]);
  }, 180_000);
});
