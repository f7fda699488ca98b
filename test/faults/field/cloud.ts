import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { createRandomSource } from "../../sim/seeded-random.ts";
import { libfaketime } from "../clock.ts";
import {
  evaluateReception,
  makeZones,
  type ReceptionSummary,
  type SentMessage,
  startSender,
  type TestZone,
} from "./commands.ts";
import { compareSides, lostWrites, reportedTwice, unreportedMessages } from "./consistency-check.ts";
import { type FaultCounts, startFaultInjection } from "./fault-injection.ts";
import { type FieldMembers, openFieldMembers } from "./members.ts";
import { createNetworkField, type NetworkField } from "./network-namespaces.ts";
import { type RestoreScene, restoreBothSides } from "./restores.ts";
import { startWriter, type WriterResult } from "./writers.ts";

/** What came of it. */
export interface CloudRun extends Omit<ReceptionSummary, "broken"> {
  mishaps: FaultCounts;
  answered: number;
  unanswered: number;
  /** Rows that were compared in the end. */
  rows: number;
  /** From the end of all mishaps until all sides agreed, ms; -1 when they did not in time. */
  agreedMs: number;
  /** The same after the restore of an appliance's backup of the day before, and of the cloud's. */
  restoredAgreedMs: number;
  /** Each promise that was broken, in words. */
  broken: string[];
}

const EVERY_MS = 8_000;
const SHARED_SITES = 10;
/** @source the promise of README.md: all sides agree within 30 s */
const AGREED_MS = 30_000;
/** How long it is looked whether they agree after all. */
const PATIENCE_MS = 120_000;
const MAX_SHOWN = 20;
/** How long all sides write between a backup and its restore. */
const LIFE_MS = 8_000;

/** A cloud and two appliances under four writers and mishaps that follow from `seed`, for so long; then all is healed and looked at. */
export async function injectCloudFaults(
  minutes: number,
  seed: number,
  say: (progress: string) => void,
): Promise<CloudRun> {
  const folder = mkdtempSync(join(tmpdir(), "carillon-cloud-"));
  const field = createNetworkField();
  const faketime = libfaketime();
  if (!faketime) say("Debian's faketime is not there: no clock is set.");
  try {
    const members = await openFieldMembers({ field, folder, faketime });
    try {
      return await trouble(members, { field, folder, minutes, seed, say });
    } finally {
      await members.end();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Story {
  field: NetworkField;
  folder: string;
  minutes: number;
  seed: number;
  say(progress: string): void;
}

async function trouble(members: FieldMembers, story: Story): Promise<CloudRun> {
  const { field, folder, minutes, seed, say } = story;
  const { hub, sites } = members;
  const count = Math.ceil((minutes * 60_000) / EVERY_MS);
  const zones = await Promise.all(sites.map((site, at) => makeZones(site, at + 1, count)));
  const [quiet] = await Promise.all([Promise.all(sites.map((site, at) => makeZones(site, at + 11, 1)))]);
  const shared: string[] = [];
  for (let place = 0; place < SHARED_SITES; place++) {
    shared.push(
      (await hub.api.post<{ id: string }>("/sites", { name: `Shared ${place}`, latitude: 0, longitude: 0 })).id,
    );
  }
  const agreement = await compareSides(members);
  await agreed(agreement.differences, PATIENCE_MS);
  say(`all is linked, ${agreement.rows()} rows agree`);

  const diceOf = (place: number) => createRandomSource(seed * 100 + place);
  const writers = [hub, hub, ...sites].map((member, at) => {
    const device = at < 2 ? null : (quiet[at - 2]?.[0]?.device ?? null);
    return startWriter({ member, name: `Writer ${at}`, dice: diceOf(at), shared, device });
  });
  const sender = startSender({ members, dice: diceOf(10), zones, everyMs: EVERY_MS, own: field.own, folder });
  const mishaps = startFaultInjection(members, diceOf(20), say);
  await pause(minutes * 60_000);
  const counts = await mishaps.stop();
  const healedAt = performance.now();
  say("all is healed");
  const [writings, { sent }] = await Promise.all([Promise.all(writers.map((writer) => writer.stop())), sender.stop()]);
  const left = await agreed(agreement.differences, PATIENCE_MS);
  const agreedMs = left.length === 0 ? Math.round(performance.now() - healedAt) : -1;
  say(left.length === 0 ? `all sides agreed after ${agreedMs} ms` : `${left.length} rows differ`);
  await settled(members, sent);
  const hearing = await evaluateReception(hub, sent);
  for (const { zones: heard } of sent) for (const { ears } of heard) ears.close();
  // Before anybody is put back to what it was.
  const twice = await reportedTwice(members);
  const lost = await lostWrites(hub, writings);
  const untold = await told(members, writings);
  const alike = { members, own: field.own, folder, say, agree: () => agreed(agreement.differences, PATIENCE_MS) };
  const restores = await restoreBothSides({ ...alike, ...liveAgain(story, members, shared, quiet) });
  const broken = [
    ...left.slice(0, MAX_SHOWN),
    ...(agreedMs > AGREED_MS ? [`all sides agreed only after ${agreedMs} ms`] : []),
    ...refusals(writings),
    ...[...lost, ...untold, ...twice],
    ...hearing.broken,
    ...restores.broken,
    ...(await reportedTwice(members, true)),
  ];
  if (broken.length > 0) for (const member of [hub, ...sites]) say(`log of ${member.name}:\n${warnings(member.log())}`);
  const sum = (of: (writing: WriterResult) => number): number => writings.reduce((all, each) => all + of(each), 0);
  return {
    ...{ mishaps: counts, answered: sum(({ answered }) => answered), unanswered: sum(({ unanswered }) => unanswered) },
    ...{ rows: agreement.rows(), agreedMs, restoredAgreedMs: restores.agreedMs },
    ...{ ...hearing, broken },
  };
}

/** Lets all sides write for a moment, again and again, with rows of their own. */
function liveAgain(
  { seed }: Story,
  members: FieldMembers,
  shared: readonly string[],
  quiet: readonly (readonly TestZone[])[],
): Pick<RestoreScene, "live" | "lost"> {
  const { hub, sites } = members;
  const lives: WriterResult[][] = [];
  return {
    async live() {
      const round = lives.length;
      const writers = [hub, hub, ...sites].map((member, at) => {
        const device = at < 2 ? null : (quiet[at - 2]?.[0]?.device ?? null);
        const dice = createRandomSource(seed * 100 + 30 + round * 10 + at);
        return startWriter({ member, name: `Life ${round} writer ${at}`, dice, shared, device });
      });
      await pause(LIFE_MS);
      lives.push(await Promise.all(writers.map((writer) => writer.stop())));
    },
    /** A cloud that was put back has lost what was written there, and keeps what an appliance with its memory tells it again. */
    async lost(isCloud) {
      const [newest = []] = lives.slice(-1);
      const known = isCloud ? newest.filter(({ at }) => at === sites[1].name) : newest;
      const ofOther = newest.filter(({ at }) => at === sites[1].name);
      return [...refusals(newest), ...(await lostWrites(hub, known)), ...(await told(members, ofOther))];
    },
  };
}

/** What the cloud was not told of messages in the end: the last ones may still wait for their zone, or sound. */
function told(members: FieldMembers, writings: readonly WriterResult[]): Promise<string[]> {
  return agreed(() => unreportedMessages(members, writings), PATIENCE_MS);
}

function refusals(writings: readonly WriterResult[]): string[] {
  return writings.flatMap(({ at, refused }) => refused.map((words) => `a write at ${at} was refused: ${words}`));
}

/** Looks again and again until nothing differs; gives what differs in the end. */
async function agreed(differences: () => Promise<string[]>, maxMs: number): Promise<string[]> {
  const until = performance.now() + maxMs;
  for (;;) {
    const left = await differences().catch((error: unknown) => [String(error)]);
    if (left.length === 0 || performance.now() > until) return left;
    await pause(500);
  }
}

/** Until the cloud was told what became of each message. */
async function settled({ hub }: FieldMembers, sent: readonly SentMessage[]): Promise<void> {
  const until = performance.now() + PATIENCE_MS;
  for (const { id } of sent) {
    for (;;) {
      const { data } = await hub.api.get<{ data: { endedAt: string | null }[] }>(`/notifications/${id}/devices`);
      if (data.every(({ endedAt }) => endedAt !== null) || performance.now() > until) break;
      await pause(500);
    }
  }
}

function warnings(log: string): string {
  return log
    .split("\n")
    .filter((line) => !line.startsWith('{"level":30') && !line.startsWith('{"level":20'))
    .slice(-40)
    .join("\n");
}
