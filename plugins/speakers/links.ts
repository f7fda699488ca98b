import type { Clock, Timer } from "#plugin-api";
import type { SpeakerSettings } from "./rules.ts";
import type { HeldPlan } from "./said.ts";
import type { KnownAgent } from "./tokens.ts";

/** What an agent is told to do. */
export type Command =
  | {
      kind: "play";
      deliveryId: number;
      notificationId: string;
      ssrc: number;
      /** 0 to 100, for this message alone. */
      volume: number;
      delayMs: number;
      priority: number;
    }
  | { kind: "stop"; deliveryId: number };

/** An agent as it stands; it is there when it has asked for commands a short time ago. */
export interface AgentLink extends KnownAgent {
  mac: string;
  /** Where it listens. */
  address: string;
  port: number;
  settings: SpeakerSettings;
  plan: HeldPlan | null;
}

/** Who is connected, and what waits for them. */
export interface Links {
  /** Null for one that has not asked for so long. */
  find(mac: string): AgentLink | null;
  /** Those that are connected, and whose plans have not been in order for so long. */
  behind(ms: number): AgentLink[];
  /**
   * Hands a command over at once, or with the next request; false when it is not connected. Those that come back after a
   * restart of the appliance have some time to do so.
   */
  tell(mac: string, command: Command): boolean;
  /** An agent asks: resolves with what there is for it, at the latest after `waitMs`. */
  ask(link: AgentLink, waitMs: number): Promise<Command[]>;
  /** An agent has said something. */
  seen(link: AgentLink): void;
  /** Looks for those that have gone, and has all ask anew when the clock was set, since they reckon with it. */
  sweep(): void;
}

/** What links need; `onChange` hears of those that have come (true), moved, or got another plan, or gone (false). */
export interface LinksNeeds {
  clock: Clock;
  onChange(link: AgentLink, isHere: boolean): void;
}

interface Open {
  link: AgentLink;
  /** Epoch ms. */
  since: number;
  /** Until when the plan was in order, as `onChange` heard it. */
  toldAt: number;
  askedAt: number;
  queue: Command[];
  /** Answers the request that waits. */
  answer: (() => void) | null;
}

/** Three requests that did not come. @source protocols.md 6 */
const GONE_MS = 30_000;
/** The clock drifts or is slewed by less than this between two looks. own choice */
const SET_MS = 250;
const BACK_WITHIN_MS = 15_000;
/** That a plan is in order is told again after so long, also when it stays the same. own choice */
const TOLD_EVERY_MS = 6 * 3_600_000;
/** Requests held at once; the host takes 1,000. Beyond, agents are sent away and ask again. own choice */
const MOST_HELD = 800;
/** A stop that finds no room is not worth more than what waits. own choice */
const MOST_WAITING = 64;

/** Makes the links, nobody connected as yet. */
export function createLinks({ clock, onChange }: LinksNeeds): Links {
  const opens = new Map<string, Open>();
  /** For those that were not back yet. */
  const early = new Map<string, Command[]>();
  const beganAt = clock.monotonicMs();
  let held = 0;
  let wallSeen = clock.now() - clock.monotonicMs();
  const isHere = ({ askedAt, answer }: Open): boolean => answer !== null || clock.monotonicMs() - askedAt < GONE_MS;
  const here = (mac: string): Open | null => {
    const open = opens.get(mac);
    return open && isHere(open) ? open : null;
  };
  const meet = (link: AgentLink): Open => {
    const known = opens.get(link.mac);
    const moved = known?.link.address !== link.address || known.link.port !== link.port;
    const inOrderAt = link.plan?.inOrderAt ?? 0;
    const isDue = inOrderAt - (known?.toldAt ?? 0) >= TOLD_EVERY_MS;
    const hasChanged = moved || isDue || known.link.plan?.until !== link.plan?.until;
    const queue = early.get(link.mac) ?? [];
    const open = known ?? { link, since: clock.now(), toldAt: 0, askedAt: 0, queue, answer: null };
    if (hasChanged) open.toldAt = inOrderAt;
    early.delete(link.mac);
    Object.assign(open, { link, askedAt: clock.monotonicMs() });
    opens.set(link.mac, open);
    if (hasChanged) onChange(link, true);
    return open;
  };
  return {
    find: (mac) => here(mac)?.link ?? null,
    behind(ms) {
      const isBehind = ({ link: { plan }, since }: Open): boolean =>
        plan !== null && Math.max(since, plan.inOrderAt ?? 0) < clock.now() - ms;
      return [...opens.values()].filter((open) => isHere(open) && isBehind(open)).map(({ link }) => link);
    },
    tell(mac, command) {
      const open = here(mac);
      const queue = open?.queue ?? (clock.monotonicMs() - beganAt < BACK_WITHIN_MS ? queueOf(mac) : null);
      if (!queue || queue.length >= MOST_WAITING) return false;
      queue.push(command);
      open?.answer?.();
      return true;
    },
    async ask(link, waitMs) {
      const open = meet(link);
      // One request is held for each: the one before may have lost its connection.
      open.answer?.();
      if (open.queue.length === 0 && waitMs > 0 && held < MOST_HELD) await wait(open, waitMs);
      open.askedAt = clock.monotonicMs();
      return open.queue.splice(0);
    },
    seen: (link) => void meet(link),
    sweep() {
      const wall = clock.now() - clock.monotonicMs();
      if (Math.abs(wall - wallSeen) > SET_MS) for (const { answer } of [...opens.values()]) answer?.();
      wallSeen = wall;
      for (const [mac, open] of opens) {
        if (isHere(open)) continue;
        opens.delete(mac);
        onChange(open.link, false);
      }
    },
  };

  function queueOf(mac: string): Command[] {
    const queue = early.get(mac) ?? [];
    early.set(mac, queue);
    return queue;
  }

  function wait(open: Open, waitMs: number): Promise<void> {
    return new Promise((resolve) => {
      let timer: Timer | null = null;
      held++;
      const end = (): void => {
        held--;
        timer?.cancel();
        open.answer = null;
        resolve();
      };
      timer = clock.after(waitMs, end);
      open.answer = end;
    });
  }
}
