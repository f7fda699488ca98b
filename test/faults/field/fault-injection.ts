import { setTimeout as pause } from "node:timers/promises";
import type { RandomSource } from "../../sim/seeded-random.ts";
import type { FieldMember, FieldMembers } from "./members.ts";

/** What was done to the field; by kind, how often. */
export type FaultCounts = Record<string, number>;

/** A mishap that has begun: who it strikes is struck by no other one meanwhile. */
interface Mishap {
  kind: string;
  strikes: string;
  lastsMs: number;
  begin(): void | Promise<void>;
  end(): void | Promise<void>;
}

/** Between the beginnings of two mishaps. @source reliability.md, R10 */
const [MIN_PAUSE_MS, MAX_PAUSE_MS] = [3_000, 8_000];
const HOUR_MS = 3_600_000;

/** Lets one mishap after another happen to the cloud and its appliances, some of them at once, until it is stopped; then all is healed. */
export function startFaultInjection(
  members: FieldMembers,
  dice: RandomSource,
  say: (progress: string) => void,
): { stop(): Promise<FaultCounts> } {
  const counts: FaultCounts = {};
  const struck = new Set<string>();
  const open = new Set<Promise<void>>();
  const stopping = new AbortController();
  const wait = (ms: number): Promise<void> => pause(ms, undefined, { signal: stopping.signal }).catch(() => undefined);

  async function happen(mishap: Mishap): Promise<void> {
    const { kind, strikes, lastsMs } = mishap;
    counts[kind] = (counts[kind] ?? 0) + 1;
    struck.add(strikes);
    say(`${strikes}: ${kind} for ${lastsMs} ms`);
    await mishap.begin();
    await wait(lastsMs);
    await mishap.end();
    struck.delete(strikes);
  }

  const running = (async () => {
    while (!stopping.signal.aborted) {
      await wait(MIN_PAUSE_MS + dice.below(MAX_PAUSE_MS - MIN_PAUSE_MS));
      const mishap = pick(members, dice);
      if (stopping.signal.aborted || struck.has(mishap.strikes)) continue;
      const happening = happen(mishap);
      open.add(happening);
      void happening.finally(() => open.delete(happening));
    }
  })();
  return {
    async stop() {
      stopping.abort();
      await running;
      await Promise.all(open);
      return counts;
    },
  };
}

function pick({ hub, sites }: FieldMembers, dice: RandomSource): Mishap {
  const anybody = dice.pick([hub, ...sites]);
  const site = dice.pick(sites);
  const roll = dice.next();
  if (roll < 0.45) return ofLine(anybody, "wan", dice);
  if (roll < 0.55) return ofLine(site, "lan", dice);
  if (roll < 0.7) return killing(anybody, dice);
  if (roll < 0.85 || !site.clock) return freezing(anybody, dice);
  return stepping(site, dice);
}

function ofLine(member: FieldMember, network: "wan" | "lan", dice: RandomSource): Mishap {
  const line = member.place.line(network);
  const kind = dice.pick(["cut", "mute", "slow"] as const);
  const kbits = 64 * 2 ** dice.below(5);
  return {
    kind: `${kind} ${network}`,
    strikes: `${member.name}'s ${network}`,
    lastsMs: 2_000 + dice.below(16_000),
    begin: () => (kind === "slow" ? line.slow(kbits) : line[kind]()),
    end: () => line.heal(),
  };
}

function killing(member: FieldMember, dice: RandomSource): Mishap {
  return {
    ...{ kind: "SIGKILL", strikes: member.name, lastsMs: 200 + dice.below(5_000) },
    begin: () => member.end("SIGKILL"),
    end: () => member.start(),
  };
}

function freezing(member: FieldMember, dice: RandomSource): Mishap {
  return {
    ...{ kind: "SIGSTOP", strikes: member.name, lastsMs: 500 + dice.below(12_000) },
    begin: () => member.freeze(),
    end: () => member.thaw(),
  };
}

function stepping(member: FieldMember, dice: RandomSource): Mishap {
  const ms = (dice.happens(0.5) ? 1 : -1) * dice.below(HOUR_MS);
  return {
    ...{ kind: "clock step", strikes: `${member.name}'s clock`, lastsMs: 3_000 + dice.below(15_000) },
    begin: () => member.clock?.step(ms),
    end: () => member.clock?.step(-ms),
  };
}
