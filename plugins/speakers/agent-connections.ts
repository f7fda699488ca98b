import type { Clock, SrtpMasterKey, Timer } from "#plugin-api";
import type { RingPlanStatus } from "./agent-messages.ts";
import type { RegisteredAgent } from "./agent-tokens.ts";
import type { SpeakerSettings } from "./speaker-rules.ts";

/** A command to an agent. */
export type AgentCommand =
  | {
      kind: "play";
      deliveryId: number;
      notificationId: string;
      ssrc: number;
      /** 0 to 100, for this message only. */
      volume: number;
      delayMs: number;
      priority: number;
      /** Address that the stream comes from; null if unknown. */
      source: string | null;
      /** Key of the stream; missing for agents of an earlier version. */
      secrecy?: SrtpMasterKey;
    }
  | { kind: "stop"; deliveryId: number }
  /** The settings of the response are new. */
  | { kind: "refresh" };

/** A connected agent: it has polled recently. */
export interface AgentConnection extends RegisteredAgent {
  mac: string;
  /** Address of its RTP port. */
  address: string;
  port: number;
  settings: SpeakerSettings;
  plan: RingPlanStatus | null;
}

/** Connected agents and their pending commands. */
export interface AgentConnections {
  /** Null if not connected. */
  find(mac: string): AgentConnection | null;
  /** Connected agents whose plan has been outdated for this long. */
  withOutdatedPlan(ms: number): AgentConnection[];
  /**
   * Sends a command at once, or with the next poll; false if the agent is not connected. After a restart of the
   * appliance, agents have a grace period to reconnect.
   */
  sendCommand(mac: string, command: AgentCommand): boolean;
  /** Sends `refresh` to the connected agents that fit, unless it is pending. */
  refresh(fits: (link: AgentConnection) => boolean): void;
  /** Long poll of an agent: resolves with its commands, after `waitMs` at the latest. */
  poll(link: AgentConnection, waitMs: number): Promise<AgentCommand[]>;
  /** Notes a request of an agent. */
  touch(link: AgentConnection): void;
  /** Detects disconnected agents. If the clock was set, ends all long polls, because agents use it. */
  sweep(): void;
}

/** `onChange` reports agents that connected, moved or got another plan (true), or disconnected (false). */
export interface AgentConnectionsDeps {
  clock: Clock;
  onChange(link: AgentConnection, isHere: boolean): void;
}

interface ConnectionState {
  link: AgentConnection;
  /** Epoch ms. */
  since: number;
  /** Time up to which the plan was reported as up to date. */
  reportedAt: number;
  lastPollAt: number;
  queue: AgentCommand[];
  /** Ends the waiting long poll. */
  respond: (() => void) | null;
}

/** Three missed polls. @source docs/decisions/0035-speakers.md */
const OFFLINE_AFTER_MS = 30_000;
/** Larger changes between two sweeps than drift or slewing explain. */
const CLOCK_STEP_MS = 250;
const RECONNECT_GRACE_MS = 15_000;
/** An up-to-date plan is reported again after this time. */
const REPORT_EVERY_MS = 6 * 3_600_000;
/** Maximum number of waiting polls; the host allows 1,000. Further agents are answered at once and retry. */
const MAX_HELD_REQUESTS = 800;
/** Maximum number of queued commands per agent. */
const MAX_QUEUED_COMMANDS = 64;

/** Creates the connections, empty. */
export function createAgentConnections({ clock, onChange }: AgentConnectionsDeps): AgentConnections {
  const connections = new Map<string, ConnectionState>();
  /** Commands for agents that have not reconnected yet. */
  const pendingCommands = new Map<string, AgentCommand[]>();
  const startedAt = clock.monotonicMs();
  let waitingPolls = 0;
  let lastWallOffset = clock.now() - clock.monotonicMs();
  const isConnected = ({ lastPollAt, respond }: ConnectionState): boolean =>
    respond !== null || clock.monotonicMs() - lastPollAt < OFFLINE_AFTER_MS;
  const connectedAgent = (mac: string): ConnectionState | null => {
    const entry = connections.get(mac);
    return entry && isConnected(entry) ? entry : null;
  };
  const update = (link: AgentConnection): ConnectionState => {
    const known = connections.get(link.mac);
    const moved = known?.link.address !== link.address || known.link.port !== link.port;
    const inOrderAt = link.plan?.inOrderAt ?? 0;
    const isDue = inOrderAt - (known?.reportedAt ?? 0) >= REPORT_EVERY_MS;
    const hasChanged = moved || isDue || known.link.srtp !== link.srtp || known.link.plan?.until !== link.plan?.until;
    const queue = pendingCommands.get(link.mac) ?? [];
    const entry = known ?? { link, since: clock.now(), reportedAt: 0, lastPollAt: 0, queue, respond: null };
    if (hasChanged) entry.reportedAt = inOrderAt;
    pendingCommands.delete(link.mac);
    Object.assign(entry, { link, lastPollAt: clock.monotonicMs() });
    connections.set(link.mac, entry);
    if (hasChanged) onChange(link, true);
    return entry;
  };
  return {
    find: (mac) => connectedAgent(mac)?.link ?? null,
    withOutdatedPlan(ms) {
      const isBehind = ({ link: { plan }, since }: ConnectionState): boolean =>
        plan !== null && Math.max(since, plan.inOrderAt ?? 0) < clock.now() - ms;
      return [...connections.values()].filter((entry) => isConnected(entry) && isBehind(entry)).map(({ link }) => link);
    },
    sendCommand(mac, command) {
      const entry = connectedAgent(mac);
      const queue = entry?.queue ?? (clock.monotonicMs() - startedAt < RECONNECT_GRACE_MS ? queueOf(mac) : null);
      if (!queue || queue.length >= MAX_QUEUED_COMMANDS) return false;
      queue.push(command);
      entry?.respond?.();
      return true;
    },
    refresh(fits) {
      for (const entry of [...connections.values()]) {
        if (!isConnected(entry) || !fits(entry.link) || entry.queue.some(({ kind }) => kind === "refresh")) continue;
        entry.queue.push({ kind: "refresh" });
        entry.respond?.();
      }
    },
    async poll(link, waitMs) {
      const entry = update(link);
      // One long poll per agent: the previous one may have lost its connection.
      entry.respond?.();
      if (entry.queue.length === 0 && waitMs > 0 && waitingPolls < MAX_HELD_REQUESTS) await wait(entry, waitMs);
      entry.lastPollAt = clock.monotonicMs();
      return entry.queue.splice(0);
    },
    touch: (link) => void update(link),
    sweep() {
      const wall = clock.now() - clock.monotonicMs();
      if (Math.abs(wall - lastWallOffset) > CLOCK_STEP_MS)
        for (const { respond } of [...connections.values()]) respond?.();
      lastWallOffset = wall;
      for (const [mac, entry] of connections) {
        if (isConnected(entry)) continue;
        connections.delete(mac);
        onChange(entry.link, false);
      }
    },
  };

  function queueOf(mac: string): AgentCommand[] {
    const queue = pendingCommands.get(mac) ?? [];
    pendingCommands.set(mac, queue);
    return queue;
  }

  function wait(entry: ConnectionState, waitMs: number): Promise<void> {
    return new Promise((resolve) => {
      let timer: Timer | null = null;
      waitingPolls++;
      const end = (): void => {
        waitingPolls--;
        timer?.cancel();
        entry.respond = null;
        resolve();
      };
      timer = clock.after(waitMs, end);
      entry.respond = end;
    });
  }
}
