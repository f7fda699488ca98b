import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFailed } from "vitest";
import { type BroadcastHarness, type DeliveryLine, startBroadcastHarness } from "../support/broadcast-harness.ts";
import type { SimulatorReport } from "../support/simulator.ts";
import { eventually } from "../support/timeouts.ts";

const PHONES = 200;
const ZONES = 4;
const OFFLINE = 4;
const MUTE = 3;
const HEARING = PHONES - OFFLINE - MUTE;
/** Long enough that a daemon of a busy machine is back, and phones are asked, long before the sound is over. */
const SECONDS = 30;
const PACKETS = SECONDS * 50;
const MS_PER_PACKET = 20;
const LAST_PACKET_MS = (PACKETS - 1) * MS_PER_PACKET;
/** How far packets may be from their moment, on a machine that does other things too; less than what the kill swallows. */
const SLACK_MS = 1_600;
/** The daemon stays away at least so long, however fast it starts: sound shifted by that would be found out. */
const AWAY_MS = 2_400;

let scene: BroadcastHarness;
beforeAll(async () => {
  scene = await startBroadcastHarness({ phones: PHONES, zones: ZONES, offline: OFFLINE, mute: MUTE }, 600);
}, 120_000);
afterAll(() => scene.end());
beforeEach(async () => {
  onTestFailed(() => console.error(scene.log()));
  await scene.campus.reset();
});

const playing = (rows: readonly DeliveryLine[]): number => rows.filter(({ level }) => level === "playing").length;
const hearing = ({ phones }: SimulatorReport) => phones.filter(({ packets }) => packets > 0);
const startsOf = (report: SimulatorReport, phone: string): number | undefined =>
  report.phones.find(({ deviceIdentifier }) => deviceIdentifier === phone)?.starts;

/** Each device has one row, and each row one end: as far as the device can prove it. */
function expectOneEndEach(rows: readonly DeliveryLine[]): void {
  expect(new Set(rows.map(({ deviceIdentifier }) => deviceIdentifier)).size).toBe(rows.length);
  expect(rows).toHaveLength(PHONES + ZONES);
  expect(rows.filter(({ endedAt }) => endedAt === null)).toEqual([]);
  const levels: Record<string, number> = {};
  for (const { level } of rows) levels[level] = (levels[level] ?? 0) + 1;
  expect(levels).toEqual({ playing: HEARING, accepted: MUTE, failed: OFFLINE, sent: ZONES });
  for (const { level, reason } of rows) if (level === "failed") expect(reason).toMatch(/\bphone\b/);
}

/** Every phone falls silent, which it does after its row has ended. */
const allSilent = () =>
  eventually(async () => (await scene.campus.report()).phones.every((phone) => !phone.joinedAt || phone.leftAt));

/** Kills the daemon, starts it again, and waits for the end of the message. */
async function killed(id: string) {
  const left = await scene.kill(id);
  const back = performance.now() + AWAY_MS;
  const atKill = await scene.campus.report();
  await eventually(async () => performance.now() > back);
  await scene.restart();
  const rows = await scene.waitUntilFinished(id);
  await allSilent();
  return { left, atKill, rows, report: await scene.simulatorReport(id) };
}

/** Whoever had joined as far as the ledger knew is not asked once more, above all nobody whose playing was known. */
function expectNobodyAskedAgain({ left, atKill, report }: Awaited<ReturnType<typeof killed>>): void {
  const joined = left.filter(({ type, acceptedAt }) => type === "phones" && acceptedAt !== null);
  const askedAgain = joined.filter(
    ({ deviceIdentifier: phone }) => startsOf(report, phone) !== startsOf(atKill, phone),
  );
  expect(askedAgain).toEqual([]);
}

/** All hear the one stream, right in every packet, up to the last one at its moment; the part that nobody sent is missing. */
function expectSoundInPlace(report: SimulatorReport): void {
  const listeners = [...hearing(report), ...report.zones];
  expect(listeners).toHaveLength(HEARING + ZONES);
  expect(new Set(listeners.map(({ ssrc }) => ssrc)).size).toBe(1);
  expect(listeners.filter(({ wrong }) => wrong !== 0)).toEqual([]);
  const began = Math.min(...listeners.map(({ firstPacketAt }) => firstPacketAt ?? Number.POSITIVE_INFINITY));
  const ends = listeners.map(({ lastPacketAt }) => (lastPacketAt ?? 0) - began);
  expect(Math.max(...ends) - LAST_PACKET_MS).toBeLessThan(SLACK_MS);
  expect(LAST_PACKET_MS - Math.min(...ends)).toBeLessThan(SLACK_MS);
}

describe("a daemon that is killed during a broadcast", { timeout: 120_000 }, () => {
  it("has stored the notification when it dies right after its response", async () => {
    const after = await killed(await scene.send("Killed before the sound", SECONDS));
    expectOneEndEach(after.rows);
    expectNobodyAskedAgain(after);
    expectSoundInPlace(after.report);
    expect(after.report.summary).toMatchObject({ exact: HEARING + ZONES });
  });

  it("reaches phones whose response was lost, when it dies while phones are being pushed", async () => {
    const id = await scene.send("Killed while asking", SECONDS);
    await eventually(async () => (await scene.campus.report()).phones.some(({ starts }) => starts > 0));
    const after = await killed(id);
    expectOneEndEach(after.rows);
    expectNobodyAskedAgain(after);
    expect(hearing(after.report)).toHaveLength(HEARING);
    expect([...hearing(after.report), ...after.report.zones].filter(({ wrong }) => wrong !== 0)).toEqual([]);
  });

  it.each([
    ["when the first phones are proven to play", 0],
    ["when a quarter of the sound is over", 0.25],
  ])("goes on with the sound at its place: %s", async (when, share) => {
    const id = await scene.send(`Killed ${when}`, SECONDS);
    await eventually(async () => playing(await scene.deliveries(id)) > 0);
    await eventually(async () => (await scene.campus.report()).zones.every(({ packets }) => packets > share * PACKETS));
    const after = await killed(id);
    expect(after.left.filter(({ level }) => level === "playing").length).toBeGreaterThan(0);
    expectOneEndEach(after.rows);
    expectNobodyAskedAgain(after);
    expectSoundInPlace(after.report);
    for (const { packets, lost } of after.report.zones) {
      expect(packets + lost).toBe(PACKETS);
      expect(lost * MS_PER_PACKET).toBeGreaterThan(SLACK_MS);
    }
  });

  it("gives a message up that is of no use any more, and says that it was missed", async () => {
    const id = await scene.send("Too late", SECONDS);
    await eventually(async () => playing(await scene.deliveries(id)) > 0);
    const left = await scene.kill(id);
    const atKill = await scene.campus.report();
    scene.alter(
      "UPDATE notifications SET created_at = created_at - 600000, not_after = not_after - 600000, t0 = t0 - 600000 WHERE id = ?",
      id,
    );
    await scene.restart();
    const rows = await scene.waitUntilFinished(id);
    expect(rows.filter(({ endedAt }) => endedAt === null)).toEqual([]);
    await allSilent();
    const report = await scene.campus.report();
    for (const phone of report.phones) {
      expect(phone.starts).toBe(startsOf(atKill, phone.deviceIdentifier));
    }
    const proven = new Set(left.filter(({ level }) => level === "playing").map((row) => row.deviceIdentifier));
    expect(proven.size).toBeGreaterThan(0);
    const levels = new Set(rows.filter((row) => proven.has(row.deviceIdentifier)).map(({ level }) => level));
    expect([...levels]).toEqual(["playing"]);
    const endedThen = rows.filter(({ level }) => level !== "failed").map(({ reason }) => reason);
    expect([...new Set(endedThen)]).toEqual(["The appliance was not running and recovered too late."]);
    const told = (await scene.activityLog(id)).filter(({ type }) => type === "broadcast-failed");
    expect(told.map(({ details }) => details?.message)).toEqual([
      "The appliance was not running and recovered too late.",
    ]);
  });
});
