import { type Clock, checkMulticast, type MulticastCheck, type MulticastTarget } from "#plugin-api";
import { sentence } from "./sentences.ts";

/** Follows whether packets to the zones' groups leave the appliance. */
export interface ZoneNetwork {
  /** Includes a zone's group in the checks. */
  add(target: MulticastTarget): void;
  /** A delivery found that nothing can leave. */
  fail(target: MulticastTarget, problem: string): void;
  /** Checks all groups: after a change of the network. */
  checkAll(): Promise<void>;
  /** Checks one group of each interface, and those that failed. */
  checkSample(): Promise<void>;
}

export interface ZoneNetworkDeps {
  clock: Clock;
  /** Called when the result changes: null, or what is wrong. */
  onResult(problem: string | null): void;
  check?: (target: MulticastTarget, clock: Clock) => Promise<MulticastCheck>;
}

/** The first zones stand for the others; routes differ by interface or range, hardly by group. */
const MAX_GROUPS = 100;
const PARALLEL_CHECKS = 8;

interface CheckedGroup {
  /** Without the port, which other programs may use. */
  target: MulticastTarget;
  problem: string | null;
}

/** Nothing is checked before the first call. */
export function createZoneNetwork({ clock, onResult, check = checkMulticast }: ZoneNetworkDeps): ZoneNetwork {
  const groups = new Map<string, CheckedGroup>();
  let reported: string | null = null;
  let turn = 0;

  const report = (): void => {
    const failed = [...groups.values()].filter(({ problem }) => problem !== null);
    const [first] = failed;
    const isPartial = failed.length < groups.size;
    const problem =
      first?.problem && isPartial
        ? sentence("some-unreachable", { failed: failed.length, zones: groups.size, problem: first.problem })
        : (first?.problem ?? null);
    if (problem === reported) return;
    reported = problem;
    onResult(problem);
  };
  const remember = (target: MulticastTarget): CheckedGroup | undefined => {
    const key = `${target.group} ${target.networkInterface ?? ""}`;
    if (!groups.has(key) && groups.size < MAX_GROUPS)
      groups.set(key, { target: { ...target, port: 0 }, problem: null });
    return groups.get(key);
  };
  const checkThese = async (which: readonly CheckedGroup[]): Promise<void> => {
    const waiting = [...which];
    const work = async (): Promise<void> => {
      for (let group = waiting.shift(); group; group = waiting.shift())
        group.problem = (await check(group.target, clock)).problem;
    };
    await Promise.all(Array.from({ length: PARALLEL_CHECKS }, work));
    report();
  };

  return {
    add: (target) => void remember(target),
    fail(target, problem) {
      const group = remember(target);
      if (group) group.problem = problem;
      report();
    },
    checkAll: () => checkThese([...groups.values()]),
    checkSample() {
      const byInterface = new Map<string | null, CheckedGroup[]>();
      for (const group of groups.values()) {
        const { networkInterface } = group.target;
        byInterface.set(networkInterface, [...(byInterface.get(networkInterface) ?? []), group]);
      }
      turn++;
      const sample = [...byInterface.values()].flatMap((list) => list[turn % list.length] ?? []);
      const failed = [...groups.values()].filter((group) => group.problem !== null && !sample.includes(group));
      return checkThese([...sample, ...failed]);
    },
  };
}
