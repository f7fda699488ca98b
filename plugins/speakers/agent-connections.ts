import type { Clock, Timer } from "#plugin-api";
import type { RingPlanStatus } from "./agent-messages.ts";
import type { RegisteredAgent } from "./agent-tokens.ts";
import type { SpeakerSettings } from "./speaker-rules.ts";

/** What an agent is told to do. */
export type AgentCommand =
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
export interface AgentConnection extends RegisteredAgent {
  mac: string;
  /** Where it listens. */
  address: string;
  port: number;
  settings: SpeakerSettings;
  plan: RingPlanStatus | null;
}

/** Who is connected, and what waits for them. */
export interface AgentConnections {
  /** Null for one that has not asked for so long. */
  find(mac: string): AgentConnection | null;
  /** Those that are connected, and whose plans have not been in order for so long. */
  withOutdatedPlan(ms: number): AgentConnection[];
  /**
   * Hands a command over at once, or with the next request; false when it is not connected. Those that come back after a
   * restart of the appliance have some time to do so.
   */
  sendCommand(mac: string, command: AgentCommand): boolean;
  /** An agent asks: resolves with what there is for it, at the latest after `waitMs`. */
  poll(link: AgentConnection, waitMs: number): Promise<AgentCommand[]>;
  /** An agent has said something. */
  touch(link: AgentConnection): void;
  /** Looks for those that have gone, and has all ask anew when the clock was set, since they reckon with it. */
  sweep(): void;
}

/** What links need; `onChange` hears of those that have come (true), moved, or got another plan, or gone (false). */
export interface AgentConnectionsDeps {
  clock: Clock;
  onChange(link: AgentConnection, isHere: boolean): void;
}

interface ConnectionState {
  link: AgentConnection;
  /** Epoch ms. */
  since: number;
  /** Until when the plan was in order, as `onChange` heard it. */
  reportedAt: number;
  askedAt: number;
  queue: AgentCommand[];
  /** Answers the request that waits. */
  answer: (() => void) | null;
}

/** Three requests that did not come. @source protocols.md 6 */
const OFFLINE_AFTER_MS = 30_000;
/** The clock drifts or is slewed by less than this between two looks. own choice */
const CLOCK_STEP_MS = 250;
const RECONNECT_GRACE_MS = 15_000;
/** That a plan is in order is told again after so long, also when it stays the same. own choice */
const REPORT_EVERY_MS = 6 * 3_600_000;
/** Requests held at once; the host takes 1,000. Beyond, agents are sent away and ask again. own choice */
const MAX_HELD_REQUESTS = 800;
/** A stop that finds no room is not worth more than what waits. own choice */
const MAX_QUEUED_COMMANDS = 64;

/** Makes the links, nobody connected as yet. */
export function createAgentConnections({ clock, onChange }: AgentConnectionsDeps): AgentConnections {
  const connections = new Map<string, ConnectionState>();
  /** For those that were not back yet. */
  const pendingCommands = new Map<string, AgentCommand[]>();
  const beganAt = clock.monotonicMs();
  let held = 0;
  let lastWallOffset = clock.now() - clock.monotonicMs();
  const isConnected = ({ askedAt, answer }: ConnectionState): boolean =>
    answer !== null || clock.monotonicMs() - askedAt < OFFLINE_AFTER_MS;
  const connectedAgent = (mac: string): ConnectionState | null => {
    const open = connections.get(mac);
    return open && isConnected(open) ? open : null;
  };
  const update = (link: AgentConnection): ConnectionState => {
    const known = connections.get(link.mac);
    const moved = known?.link.address !== link.address || known.link.port !== link.port;
    const inOrderAt = link.plan?.inOrderAt ?? 0;
    const isDue = inOrderAt - (known?.reportedAt ?? 0) >= REPORT_EVERY_MS;
    const hasChanged = moved || isDue || known.link.plan?.until !== link.plan?.until;
    const queue = pendingCommands.get(link.mac) ?? [];
    const open = known ?? { link, since: clock.now(), reportedAt: 0, askedAt: 0, queue, answer: null };
    if (hasChanged) open.reportedAt = inOrderAt;
    pendingCommands.delete(link.mac);
    Object.assign(open, { link, askedAt: clock.monotonicMs() });
    connections.set(link.mac, open);
    if (hasChanged) onChange(link, true);
    return open;
  };
  return {
    find: (mac) => connectedAgent(mac)?.link ?? null,
    withOutdatedPlan(ms) {
      const isBehind = ({ link: { plan }, since }: ConnectionState): boolean =>
        plan !== null && Math.max(since, plan.inOrderAt ?? 0) < clock.now() - ms;
      return [...connections.values()].filter((open) => isConnected(open) && isBehind(open)).map(({ link }) => link);
    },
    sendCommand(mac, command) {
      const open = connectedAgent(mac);
      const queue = open?.queue ?? (clock.monotonicMs() - beganAt < RECONNECT_GRACE_MS ? queueOf(mac) : null);
      if (!queue || queue.length >= MAX_QUEUED_COMMANDS) return false;
      queue.push(command);
      open?.answer?.();
      return true;
    },
    async poll(link, waitMs) {
      const open = update(link);
      // One request is held for each: the one before may have lost its connection.
      open.answer?.();
      if (open.queue.length === 0 && waitMs > 0 && held < MAX_HELD_REQUESTS) await wait(open, waitMs);
      open.askedAt = clock.monotonicMs();
      return open.queue.splice(0);
    },
    touch: (link) => void update(link),
    sweep() {
      const wall = clock.now() - clock.monotonicMs();
      if (Math.abs(wall - lastWallOffset) > CLOCK_STEP_MS)
        for (const { answer } of [...connections.values()]) answer?.();
      lastWallOffset = wall;
      for (const [mac, open] of connections) {
        if (isConnected(open)) continue;
        connections.delete(mac);
        onChange(open.link, false);
      }
    },
  };

  function queueOf(mac: string): AgentCommand[] {
    const queue = pendingCommands.get(mac) ?? [];
    pendingCommands.set(mac, queue);
    return queue;
  }

  function wait(open: ConnectionState, waitMs: number): Promise<void> {
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
