import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PeerHeartbeat } from "../../src/failover/heartbeat.ts";
import type { FailoverGroup } from "../../src/failover/membership.ts";
import { createRandomSource, type RandomSource } from "../sim/seeded-random.ts";
import { createVirtualTime, type VirtualTime } from "../sim/virtual-time.ts";
import { type BellSounding, createFailoverAppliance, type SimulatedFailoverAppliance } from "./failover-appliance.ts";

/** What the kills led to. */
export interface FailoverFigures {
  kills: number;
  bells: number;
  missed: number;
  /** Bells that more than one appliance sounded, by what explains it. */
  doubledAfterFirstPacket: number;
  doubledInPartition: number;
  /** It stood still between the commit of the start and the first packet. */
  doubledAtStandstill: number;
  /** Of those, how many an appliance noticed itself. */
  noticed: number;
  /** Bells that an appliance other than the first one sounded, and the longest that anybody waited for one; ms. */
  takeovers: number;
  takeoverP50Ms: number;
  takeoverMaxMs: number;
  /** Most changes of who acts within a minute in which an appliance ends and starts over and over. */
  roleChangesPerMinute: number;
  broken: string[];
}

/** Between two bells: so long that the killed one comes back, and at times takes its role again just before the next. */
const EVERY_MS = { least: 115_000, most: 200_000 };
const BELLS_PER_WORLD = 25;
/** What there is of a bell's sound is judged after so long. */
const OVER_MS = 60_000;
/** By how much clocks differ from the truth: in most worlds, and in every third. */
const SKEW_MS = { usual: 40, large: 300 };
const TAKEOVER_MS = 5_000;
/** Most changes of who acts for a group within a minute: whatever flaps, and where a kill follows on what healed. */
const ROLE_CHANGES = { flapping: 2, killed: 3 };
/** Devices that are asked late join within this. */
const JOIN_MS = 700;
/** Who stands still for less is not taken for dead. */
const GOES_ON_MS = 4_000;
/** A start is committed so long before its sound, by clocks that do not differ. */
const STARTING_MS = 70;
/** A packet is out before others hear of it. */
const TOLD_MS = 50;

/** What happened around one bell, in true time. */
interface Mishap {
  at: number;
  killedAt: number;
  kind: "kill" | "freeze";
  /** Who acts for this group is the victim. */
  group: string;
  victim: string;
  /** How long the victim is away. */
  awayMs: number;
  partition: { from: number; to: number } | null;
}

/**
 * Kills (at times: freezes) the appliance that acts around the minute of a bell, `kills` times, in virtual time, with the
 * ticker and the failover that the daemon runs; in one of ten the network between the appliances is cut as well.
 * `untilBroken`: after a promise was broken it goes no further.
 */
export async function killAroundBells(kills: number, seed: number, untilBroken = false): Promise<FailoverFigures> {
  const figures = noFigures();
  const waits: number[] = [];
  for (let done = 0; done < kills && !(untilBroken && figures.broken.length > 0); done += BELLS_PER_WORLD) {
    const rounds = Math.min(BELLS_PER_WORLD, kills - done);
    await runWorld({ rounds, number: done / BELLS_PER_WORLD, dice: createRandomSource(seed + done), figures, waits });
  }
  waits.sort((a, b) => a - b);
  figures.takeoverP50Ms = Math.round(waits[waits.length >> 1] ?? 0);
  figures.takeoverMaxMs = Math.round(waits.at(-1) ?? 0);
  return figures;
}

function noFigures(): FailoverFigures {
  const doubled = { doubledAfterFirstPacket: 0, doubledInPartition: 0, doubledAtStandstill: 0, noticed: 0 };
  const takeover = { takeovers: 0, takeoverP50Ms: 0, takeoverMaxMs: 0, roleChangesPerMinute: 0 };
  return { kills: 0, bells: 0, missed: 0, ...doubled, ...takeover, broken: [] };
}

/** Groups of two worlds: what one activates, what two share out, what three share out in different orders. */
const ORDERS: readonly Readonly<Record<string, readonly string[]>>[] = [
  { g: ["a", "b"], h: ["b", "a"] },
  { g: ["a", "b", "c"], h: ["a", "c", "b"] },
  { g: ["a", "b", "c"] },
  { g: ["a", "b"], h: ["b", "a"], k: ["a", "b"] },
  { g: ["a", "b", "c"], h: ["b", "a", "c"], k: ["c", "b", "a"] },
  { g: ["a", "b"] },
  { g: ["a", "b", "c"], h: ["b", "c", "a"] },
];

interface World {
  rounds: number;
  number: number;
  dice: RandomSource;
  figures: FailoverFigures;
  waits: number[];
}

async function runWorld({ rounds, number, dice, figures, waits }: World): Promise<void> {
  const time = createVirtualTime();
  const dataDir = mkdtempSync(join(tmpdir(), "carillon-failover-"));
  const start = time.now();
  const bells: number[] = [];
  for (let at = start, round = 0; round < rounds; round++) {
    // Bells are written to the second.
    at += 1_000 * Math.round(between(dice, EVERY_MS.least, EVERY_MS.most) / 1_000);
    bells.push(at);
  }
  const soundings: BellSounding[] = [];
  const noticed = new Set<string>();
  const cut: { from: number; to: number }[] = [];
  // Each bell goes to devices of all groups: who acts for them share it out.
  const orders = Object.entries(ORDERS[number % ORDERS.length] as (typeof ORDERS)[number]);
  const groups: FailoverGroup[] = orders.map(([id, members]) => ({ id, members, timeoutMs: 3_000 }));
  const members = [...(groups[0] as FailoverGroup).members];
  const hasOwnDevices = number % 4 === 3;
  const skewMs = number % 3 === 1 ? SKEW_MS.large : SKEW_MS.usual;
  const appliances = members.map((id) => {
    mkdirSync(join(dataDir, id));
    return createFailoverAppliance({
      ...{ id, time, dataDir, groups, hasOwnDevices, skewMs: between(dice, -skewMs, skewMs) },
      bells: bells.map((at) => new Date(at).toISOString().slice(11, 19)),
      soundMs: () => between(dice, 2_000, 15_000),
      joinMs: () => between(dice, 100, JOIN_MS),
      send: (beat) => deliver(beat),
      sounded: (sounding) => void soundings.push(sounding),
      doubled: (id_) => void noticed.add(id_),
    });
  });
  const deliver = (beat: PeerHeartbeat): void => {
    for (const to of appliances) {
      if (to.id === beat.endpoint || isCut(cut, time.now())) continue;
      time.in(dice.happens(0.02) ? between(dice, 50, 400) : between(dice, 1, 8), () => to.take(beat));
    }
  };
  const changes = groups.map((group) => watchRoles(appliances, group, time));
  for (const appliance of appliances) appliance.start();
  const mishaps: Mishap[] = [];
  try {
    for (const at of bells) {
      const mishap = plan(at, dice, groups);
      if (mishap.partition) cut.push(mishap.partition);
      mishaps.push(mishap);
      await time.run(mishap.killedAt);
      await strike(mishap, appliances, time);
      await time.run(at + OVER_MS);
    }
    await time.run(time.now() + EVERY_MS.most);
    const killed = Math.max(...changes.map((each) => each.takeMostPerMinute()));
    await flap(appliances[0] as SimulatedFailoverAppliance, time);
    const flapping = Math.max(...changes.map((each) => each.takeMostPerMinute()));
    for (const mishap of mishaps) {
      for (const { id, members } of groups) {
        const heard = soundings.filter((sounding) => sounding.at === mishap.at && sounding.groups.includes(id));
        judge(mishap, { heard, group: id, noticed, figures, waits, skewMs, first: members[0] as string });
      }
      for (const id of hasOwnDevices ? members : []) {
        const heard = soundings.filter((sounding) => sounding.at === mishap.at && sounding.groups.includes(id));
        if (id !== mishap.victim && heard.length !== 1)
          figures.broken.push(`${heard.length} times at the own devices of ${id}: ${wordsOf(mishap)}`);
      }
    }
    if (killed > ROLE_CHANGES.killed) figures.broken.push(`${killed} changes of roles in a minute`);
    if (flapping > ROLE_CHANGES.flapping) figures.broken.push(`${flapping} changes of roles in a minute of flapping`);
    figures.roleChangesPerMinute = Math.max(figures.roleChangesPerMinute, flapping);
  } finally {
    for (const each of changes) each.stop();
    for (const appliance of appliances) appliance.kill();
    const closing = Promise.all(appliances.map((appliance) => appliance.close()));
    await time.run(time.now() + 1_000);
    await closing;
    rmSync(dataDir, { recursive: true, force: true });
  }
}

function plan(at: number, dice: RandomSource, groups: readonly FailoverGroup[]): Mishap {
  // Rings are shared out half a minute ahead.
  const early = groups.length > 1 ? -35_000 : -10_000;
  const group = groups[dice.below(groups.length)] as FailoverGroup;
  // Who is back soon shares out anew what others have shared out without it.
  const isSharing = groups.length > 1 && dice.happens(0.2);
  const whenever = at + (dice.happens(0.5) ? between(dice, -3_000, 4_000) : between(dice, early, 15_000));
  const from = at - between(dice, 0, 10_000);
  const partition = dice.happens(0.1) ? { from, to: from + between(dice, 5_000, 40_000) } : null;
  return {
    at,
    killedAt: isSharing ? at + between(dice, -35_000, -29_000) : whenever,
    kind: dice.happens(0.2) ? "freeze" : "kill",
    ...{ group: group.id, victim: "" },
    awayMs: between(dice, 700, isSharing ? 8_000 : 30_000),
    partition,
  };
}

/** Ends or stops the one that acts; it is back after a while, at times during the bell. */
async function strike(
  mishap: Mishap,
  appliances: readonly SimulatedFailoverAppliance[],
  time: VirtualTime,
): Promise<void> {
  const first =
    appliances.find((each) => each.failover()?.isActive(mishap.group)) ?? (appliances[0] as SimulatedFailoverAppliance);
  mishap.victim = first.id;
  if (mishap.kind === "kill") {
    first.kill();
    time.in(mishap.awayMs, () => first.start());
  } else {
    first.freeze();
    time.in(mishap.awayMs, () => first.thaw());
  }
}

/** Ten ends and starts in a hundred seconds, without a bell. */
async function flap(first: SimulatedFailoverAppliance, time: VirtualTime): Promise<void> {
  for (let times = 0; times < 10; times++) {
    first.kill();
    await time.run(time.now() + 6_000);
    first.start();
    await time.run(time.now() + 4_000);
  }
}

interface Judged {
  /** What was heard of the bell at one group's devices. */
  heard: BellSounding[];
  group: string;
  noticed: ReadonlySet<string>;
  figures: FailoverFigures;
  waits: number[];
  skewMs: number;
  first: string;
}

function wordsOf({ at, killedAt, kind, victim, awayMs, partition }: Mishap): string {
  const bell = `the bell of ${new Date(at).toISOString()}`;
  const apart = partition ? `, cut apart from ${partition.from - at} to ${partition.to - at} ms` : "";
  return `${kind} of ${victim} ${killedAt - at} ms after ${bell}, for ${awayMs} ms${apart}`;
}

function judge(mishap: Mishap, { heard, group, noticed, figures, waits, skewMs, first }: Judged): void {
  const { at, killedAt, kind, partition } = mishap;
  const told = `${wordsOf(mishap)}, at ${group}`;
  heard.sort((a, b) => a.from - b.from);
  figures.bells += 1;
  figures.kills += 1;
  const [one, ...again] = heard;
  if (!one) {
    figures.missed += 1;
    figures.broken.push(`missed: ${told}`);
    return;
  }
  if (one.from - at < -500) figures.broken.push(`too early by ${at - one.from} ms: ${told}`);
  if (one.appliance !== first || again.length > 0) figures.takeovers += 1;
  const wait = again.length > 0 && one.cut ? (again[0] as BellSounding).from - one.to : one.from - at;
  if (again.length > 0 || wait > JOIN_MS) waits.push(wait);
  if (one.from - at > TAKEOVER_MS) figures.broken.push(`first heard after ${one.from - at} ms: ${told}`);
  if (again.length === 0) {
    // Who stood still for a moment goes on with its sound.
    const goesOn = kind === "freeze" && mishap.awayMs < GOES_ON_MS;
    if (one.cut && !goesOn && !partition) figures.broken.push(`cut off and not played again: ${told}`);
    return;
  }
  if (one.cut && wait > TAKEOVER_MS) figures.broken.push(`taken over after ${wait} ms: ${told}`);
  if (noticed.has(one.ring)) figures.noticed += 1;
  const isCutApart =
    partition !== null && partition.from < (again[0] as BellSounding).from && partition.to > at - 5_000;
  if (one.cut && one.to >= one.from) figures.doubledAfterFirstPacket += 1;
  else if (isCutApart) figures.doubledInPartition += 1;
  else if (kind === "freeze" && Math.abs(killedAt - at) <= STARTING_MS + skewMs) figures.doubledAtStandstill += 1;
  // Of those that take over, one may begin before it hears of the other; at the moment itself only one has the role.
  else if ((again[0] as BellSounding).from - one.from > TOLD_MS || one.from - at < JOIN_MS + skewMs)
    figures.broken.push(`doubled for no reason: ${told}`);
  else figures.doubledAfterFirstPacket += 1;
}

function isCut(cuts: readonly { from: number; to: number }[], now: number): boolean {
  return cuts.some(({ from, to }) => now >= from && now < to);
}

/** Counts how often it changes who acts, by the word of those that run. */
function watchRoles(appliances: readonly SimulatedFailoverAppliance[], group: FailoverGroup, time: VirtualTime) {
  let changes: number[] = [];
  let before = "";
  let watching = true;
  const look = (): void => {
    if (!watching) return;
    const acting = appliances.filter(
      (each) => each.isUp && !each.isFrozen && each.failover()?.status(each.id).activationGroupIds.includes(group.id),
    );
    const now = acting.map(({ id }) => id).join();
    // Where two are cut apart, both act.
    if (acting.length === 1 && now !== before) {
      if (before !== "") changes.push(time.now());
      before = now;
    }
    time.in(1_000, look);
  };
  time.in(1_000, look);
  return {
    /** Of those since it was asked before. */
    takeMostPerMinute() {
      const since = changes;
      changes = [];
      return Math.max(0, ...since.map((at) => since.filter((other) => other >= at && other < at + 60_000).length));
    },
    stop() {
      watching = false;
    },
  };
}

function between(dice: RandomSource, least: number, most: number): number {
  return least + dice.below(most - least);
}
