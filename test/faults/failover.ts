import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Beat } from "../../src/replication/failover/beats.ts";
import type { CoverGroup } from "../../src/replication/failover/circle.ts";
import { createDice, type Dice } from "../sim/dice.ts";
import { createVirtualTime, type VirtualTime } from "../sim/virtual-time.ts";
import { type Appliance, makeAppliance, type Sounding } from "./failover-appliance.ts";

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
  /** Most changes of who acts within a minute. */
  roleChangesPerMinute: number;
  broken: string[];
}

/** Between two bells: long enough for the killed one to come back and take its role again. */
const EVERY_MS = 150_000;
const BELLS_PER_WORLD = 50;
const TAKEOVER_MS = 5_000;
/** Most changes within a minute, whatever flaps. */
const ROLE_CHANGES = 2;
/** Devices that are asked late join within this. */
const JOIN_MS = 700;
/** Who stands still for less is not taken for dead. */
const GOES_ON_MS = 4_000;
/** A start is committed so long before its sound, by clocks that differ. */
const STARTING_MS = 110;
/** A packet is out before others hear of it. */
const TOLD_MS = 50;

/** What happened around one bell, in true time. */
interface Mishap {
  at: number;
  killedAt: number;
  kind: "kill" | "freeze";
  victim: string;
  /** How long the victim is away. */
  awayMs: number;
  partition: { from: number; to: number } | null;
}

/**
 * Kills (at times: freezes) the appliance that acts around the minute of a bell, `kills` times, in virtual time, with the
 * ticker and the failover that the daemon runs; in one of ten the network between the appliances is cut as well.
 */
export async function killAroundBells(kills: number, seed: number): Promise<FailoverFigures> {
  const figures = noFigures();
  const waits: number[] = [];
  for (let done = 0; done < kills; done += BELLS_PER_WORLD) {
    const rounds = Math.min(BELLS_PER_WORLD, kills - done);
    await runWorld(rounds, createDice(seed + done), figures, waits);
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

async function runWorld(rounds: number, dice: Dice, figures: FailoverFigures, waits: number[]): Promise<void> {
  const time = createVirtualTime();
  const dataDir = mkdtempSync(join(tmpdir(), "carillon-failover-"));
  const start = time.now();
  const bells = Array.from({ length: rounds }, (_, round) => start + (round + 1) * EVERY_MS);
  const soundings: Sounding[] = [];
  const noticed = new Set<string>();
  const cut: { from: number; to: number }[] = [];
  const members = dice.happens(0.5) ? ["a", "b", "c"] : ["a", "b"];
  const isSplit = dice.happens(0.5);
  const groups: CoverGroup[] = [{ id: "g", members, timeoutMs: 3_000 }];
  // Each bell goes to devices of both: the first two share it out.
  if (isSplit) groups.push({ id: "h", members: ["b", "a", ...members.slice(2)], timeoutMs: 3_000 });
  const appliances = members.map((id) => {
    mkdirSync(join(dataDir, id));
    return makeAppliance({
      ...{ id, time, dataDir, groups, skewMs: between(dice, -40, 40) },
      bells: bells.map((at) => new Date(at).toISOString().slice(11, 19)),
      soundMs: () => between(dice, 2_000, 15_000),
      joinMs: () => between(dice, 100, JOIN_MS),
      send: (beat) => deliver(beat),
      sounded: (sounding) => void soundings.push(sounding),
      doubled: (id_) => void noticed.add(id_),
    });
  });
  const deliver = (beat: Beat): void => {
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
      const mishap = plan(at, dice, isSplit);
      if (mishap.partition) cut.push(mishap.partition);
      mishaps.push(mishap);
      await time.run(mishap.killedAt);
      await strike(mishap, appliances, time);
      await time.run(at + EVERY_MS / 2);
    }
    await time.run(time.now() + EVERY_MS);
    await flap(appliances[0] as Appliance, time);
    for (const mishap of mishaps) {
      for (const { id, members } of groups) {
        const heard = soundings.filter((sounding) => sounding.at === mishap.at && sounding.groups.includes(id));
        judge(mishap, { heard, group: id, noticed, figures, waits, first: members[0] as string });
      }
    }
    const most = Math.max(...changes.map((each) => each.mostPerMinute()));
    if (most > ROLE_CHANGES) figures.broken.push(`${most} changes of roles in a minute`);
    figures.roleChangesPerMinute = Math.max(figures.roleChangesPerMinute, most);
  } finally {
    for (const each of changes) each.stop();
    for (const appliance of appliances) appliance.kill();
    const closing = Promise.all(appliances.map((appliance) => appliance.close()));
    await time.run(time.now() + 1_000);
    await closing;
    rmSync(dataDir, { recursive: true, force: true });
  }
}

function plan(at: number, dice: Dice, isSplit: boolean): Mishap {
  // Rings are shared out half a minute ahead.
  const early = isSplit ? -35_000 : -10_000;
  const killedAt = at + (dice.happens(0.5) ? between(dice, -3_000, 4_000) : between(dice, early, 15_000));
  const from = at - between(dice, 0, 10_000);
  const partition = dice.happens(0.1) ? { from, to: from + between(dice, 5_000, 40_000) } : null;
  return {
    at,
    killedAt,
    kind: dice.happens(0.2) ? "freeze" : "kill",
    victim: "",
    awayMs: between(dice, 700, 30_000),
    partition,
  };
}

/** Ends or stops the one that acts; it is back after a while, at times during the bell. */
async function strike(mishap: Mishap, appliances: readonly Appliance[], time: VirtualTime): Promise<void> {
  const first = appliances.find((each) => each.failover()?.isActive("g")) ?? (appliances[0] as Appliance);
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
async function flap(first: Appliance, time: VirtualTime): Promise<void> {
  for (let times = 0; times < 10; times++) {
    first.kill();
    await time.run(time.now() + 6_000);
    first.start();
    await time.run(time.now() + 4_000);
  }
}

interface Judged {
  /** What was heard of the bell at one group's devices. */
  heard: Sounding[];
  group: string;
  noticed: ReadonlySet<string>;
  figures: FailoverFigures;
  waits: number[];
  first: string;
}

function judge(mishap: Mishap, { heard, group, noticed, figures, waits, first }: Judged): void {
  const { at, killedAt, kind, victim, partition } = mishap;
  const told = `${kind} of ${victim} ${killedAt - at} ms after the bell of ${new Date(at).toISOString()} at ${group}`;
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
  const wait = again.length > 0 && one.cut ? (again[0] as Sounding).from - one.to : one.from - at;
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
  const isCutApart = partition !== null && partition.from < (again[0] as Sounding).from && partition.to > at - 5_000;
  if (one.cut && one.to >= one.from) figures.doubledAfterFirstPacket += 1;
  else if (isCutApart) figures.doubledInPartition += 1;
  else if (kind === "freeze" && Math.abs(killedAt - at) <= STARTING_MS) figures.doubledAtStandstill += 1;
  else if ((again[0] as Sounding).from - one.from > TOLD_MS) figures.broken.push(`doubled for no reason: ${told}`);
  else figures.doubledAfterFirstPacket += 1;
}

function isCut(cuts: readonly { from: number; to: number }[], now: number): boolean {
  return cuts.some(({ from, to }) => now >= from && now < to);
}

/** Counts how often it changes who acts, by the word of those that run. */
function watchRoles(appliances: readonly Appliance[], group: CoverGroup, time: VirtualTime) {
  const changes: number[] = [];
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
    mostPerMinute: () =>
      Math.max(0, ...changes.map((at) => changes.filter((other) => other >= at && other < at + 60_000).length)),
    stop() {
      watching = false;
    },
  };
}

function between(dice: Dice, least: number, most: number): number {
  return least + dice.below(most - least);
}
