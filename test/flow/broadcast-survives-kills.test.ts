import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFailed } from "vitest";
import { type BroadcastScene, eventually, type LedgerLine, openScene } from "../support/broadcast-scene.ts";
import type { CampusReport } from "../support/campus.ts";

const PHONES = 200;
const ZONES = 4;
const OFFLINE = 4;
const MUTE = 3;
const HEARING = PHONES - OFFLINE - MUTE;
const SECONDS = 14;
const PACKETS = SECONDS * 50;
const MS_PER_PACKET = 20;
/** How far the last packet may be from its moment, on a machine that does other things too. */
const SLACK_MS = 500;

let scene: BroadcastScene;
beforeAll(async () => {
  scene = await openScene({ phones: PHONES, zones: ZONES, offline: OFFLINE, mute: MUTE }, 600);
}, 120_000);
afterAll(() => scene.end());
beforeEach(async () => {
  onTestFailed(() => console.error(scene.log()));
  await scene.campus.reset();
});

const playing = (rows: readonly LedgerLine[]): number => rows.filter(({ level }) => level === "playing").length;
const hearing = ({ phones }: CampusReport) => phones.filter(({ packets }) => packets > 0);
const startsOf = (report: CampusReport, phone: string): number | undefined =>
  report.phones.find(({ deviceIdentifier }) => deviceIdentifier === phone)?.starts;

/** Each device has one row, and each row one end: as far as the device can prove it. */
function expectOneEndEach(rows: readonly LedgerLine[]): void {
  expect(new Set(rows.map(({ deviceIdentifier }) => deviceIdentifier)).size).toBe(rows.length);
  expect(rows).toHaveLength(PHONES + ZONES);
  expect(rows.filter(({ endedAt }) => endedAt === null)).toEqual([]);
  const levels: Record<string, number> = {};
  for (const { level } of rows) levels[level] = (levels[level] ?? 0) + 1;
  expect(levels).toEqual({ playing: HEARING, accepted: MUTE, failed: OFFLINE, sent: ZONES });
  for (const { level, reason } of rows) if (level === "failed") expect(reason).toMatch(/^the phone \w+/);
}

/** Every phone falls silent, which it does after its row has ended. */
const allSilent = () =>
  eventually(async () => (await scene.campus.report()).phones.every((phone) => !phone.joinedAt || phone.leftAt));

describe("a daemon that is killed during a broadcast", { timeout: 120_000 }, () => {
  it.each<[when: string, reached: (id: string) => Promise<boolean>]>([
    ["before the sound", async () => true],
    ["when the first phones are proven to play", async (id) => playing(await scene.ledger(id)) > 0],
    [
      "when most of the sound is over",
      async () => hearing(await scene.campus.report()).every(({ packets }) => packets > 0.6 * PACKETS),
    ],
  ])("ends each device once and goes on with the sound: %s", async (when, reached) => {
    const id = await scene.send(`Killed ${when}`, SECONDS);
    if (when !== "before the sound") await eventually(async () => playing(await scene.ledger(id)) > 0);
    await eventually(() => reached(id));
    const left = await scene.kill(id);
    const atKill = await scene.campus.report();
    await scene.restart();
    const rows = await scene.settled(id);
    expectOneEndEach(rows);
    await allSilent();
    const report = await scene.heard(id);

    // Nobody who had joined is asked once more, and above all nobody whose playing was known.
    const joined = left.filter(({ type, acceptedAt }) => type === "phones" && acceptedAt !== null);
    expect(joined.filter(({ level }) => level === "playing").length).toBeGreaterThan(
      when === "before the sound" ? -1 : 0,
    );
    const askedAgain = joined.filter(
      ({ deviceIdentifier: phone }) => startsOf(report, phone) !== startsOf(atKill, phone),
    );
    expect(askedAgain).toEqual([]);

    const listeners = [...hearing(report), ...report.zones];
    expect(listeners).toHaveLength(HEARING + ZONES);
    expect(new Set(listeners.map(({ ssrc }) => ssrc)).size).toBe(1);
    expect(listeners.filter(({ wrong }) => wrong !== 0)).toEqual([]);
    // Up to the last packet, at the moment it would have come without the kill.
    const ends = listeners.map(({ lastPacketAt }) => lastPacketAt ?? 0);
    const began = Math.min(...listeners.map(({ firstPacketAt }) => firstPacketAt ?? Number.POSITIVE_INFINITY));
    const due = began + (PACKETS - 1) * MS_PER_PACKET;
    expect(Math.max(...ends) - due).toBeLessThan(SLACK_MS);
    expect(due - Math.min(...ends)).toBeLessThan(SLACK_MS);
    if (when === "before the sound") expect(listeners.filter(({ exact }) => !exact)).toEqual([]);
    else for (const zone of report.zones) expect(zone.packets + zone.lost).toBe(PACKETS);
    if (when !== "before the sound") expect(report.zones.filter(({ lost }) => lost === 0)).toEqual([]);
  });

  it("gives a message up that is of no use any more, and says that it was missed", async () => {
    const id = await scene.send("Too late", SECONDS);
    await eventually(async () => playing(await scene.ledger(id)) > 0);
    const left = await scene.kill(id);
    const atKill = await scene.campus.report();
    scene.alter(
      "UPDATE notifications SET created_at = created_at - 600000, not_after = not_after - 600000, t0 = t0 - 600000 WHERE id = ?",
      id,
    );
    await scene.restart();
    const rows = await scene.settled(id);
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
    expect([...new Set(endedThen)]).toEqual(["The appliance was not running and came back too late."]);
    const told = (await scene.diary(id)).filter(({ type }) => type === "broadcast-failed");
    expect(told.map(({ details }) => details?.message)).toEqual([
      "The appliance was not running and came back too late.",
    ]);
  });
});
