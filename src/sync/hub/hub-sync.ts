import type { Clock, Timer } from "../../lib/clock.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import type { BlobStore } from "../files/blob-store.ts";
import type { CommandOutcome, FrameTransport, SyncCommand, SyncLimits } from "../protocol/frames.ts";
import type { ReplicatedTypes } from "../protocol/replicated-types.ts";
import type { ApplyResult, RowBody, TransactionStore } from "../storage/transaction-program.ts";
import { setSiteScopes } from "./handshake.ts";
import {
  type CommandReassignment,
  type ConcludedCommand,
  issueCancellation,
  issueCommand,
  readCommandOutcomes,
  reassignCommand,
} from "./issued-commands.ts";
import { initializeFeed, publishRows, type RowPublication } from "./publish.ts";
import { runHubRetention } from "./retention.ts";
import { followScopeChanges } from "./scope-changes.ts";
import { createSiteSession, type SiteSession } from "./site-session.ts";

export interface HubSyncDeps {
  store: TransactionStore;
  clock: Pick<Clock, "now" | "every" | "defer">;
  types: ReplicatedTypes;
  limits: SyncLimits;
  blobs: BlobStore;
  newId(): string;
  /** Whether the appliance is a member of the group whose lease it requests; default: yes. */
  isInGroup?(endpoint: string, group: string): boolean;
  /** An appliance sent an invalid frame, or a file that does not match its hash. */
  onProtocolViolation(endpoint: string | null, reason: string): void;
  /** A command has an outcome, reported by the appliance (with details) or concluded by the cloud; a hint. */
  onOutcome?(endpoint: string, cid: string, report: RowBody): void;
  onFault(error: unknown): void;
}

/**
 * The cloud's side for one organisation. Stateless apart from the store, so several may serve the same organisation.
 */
export interface HubSync {
  start(): Promise<void>;
  /**
   * Starts a session. Pass received values (as JSON.parse returned them) to `frame`, and call `closed` when the
   * connection ends. `endpoint` is the authenticated appliance.
   */
  connected(wire: FrameTransport, endpoint?: string): { frame(value: unknown): void; closed(): void };
  /** Returns the result for each row. */
  publish(rows: readonly RowPublication[]): Promise<ApplyResult[]>;
  /** Issues commands; those of one group have different ranks. */
  issue(issued: readonly { endpoint: string; command: SyncCommand }[]): Promise<void>;
  cancel(ref: string, cancel: Omit<SyncCommand, "kind" | "ref">): Promise<void>;
  /** Passes a command to another appliance; false if the first one has ended it. */
  reassign(reassignment: CommandReassignment): Promise<boolean>;
  outcomes(cid: string): Promise<Record<string, CommandOutcome | null>>;
  setScopes(endpoint: string, scopes: readonly string[] | null): Promise<void>;
  /** Has all appliances compare digests now. */
  compareDigests(): void;
  /** Rows were published. */
  wake(): void;
  stop(): void;
}

/** Interval of retention and unsent commands, and of digest checks. @source docs/decisions/0300-sync-limits.md */
const TICK_MS = 5_000;
const DIGEST_CHECK_MS = 3600_000;

export function createHubSync(deps: HubSyncDeps): HubSync {
  const { store, clock, types, limits, onFault } = deps;
  const sessions = new Map<SiteSession, string | null>();
  const timers: Timer[] = [];
  let isStopped = false;
  let isTicking = false;

  const runGuarded = (job: Promise<unknown>): void => void job.catch((error) => !isStopped && onFault(error));
  const wakeAll = (commandsToo: boolean): void => {
    for (const session of sessions.keys()) session.wake(commandsToo);
  };

  function compareDigests(): void {
    for (const session of sessions.keys()) session.compareDigests();
    wakeAll(false);
  }

  async function tick(): Promise<void> {
    if (isTicking) return;
    isTicking = true;
    const lost = (commands: readonly ConcludedCommand[]): void => {
      for (const { endpoint, cid, outcome } of commands) deps.onOutcome?.(endpoint, cid, { outcome });
    };
    await runHubRetention(store, clock.now(), types, lost)
      .then(() => followScopeChanges(store, types, clock.now))
      .finally(() => {
        isTicking = false;
      });
    // Rows that another node wrote, or that were written just before the last wake-up.
    wakeAll(true);
  }

  return {
    async start() {
      await store.transact(() => initializeFeed(deps.newId()));
      timers.push(clock.every(TICK_MS, () => runGuarded(tick())));
      timers.push(clock.every(DIGEST_CHECK_MS, compareDigests));
    },
    connected(wire, endpoint) {
      const session: SiteSession = createSiteSession({
        store,
        clock,
        types,
        limits,
        blobs: deps.blobs,
        wire,
        endpoint: endpoint ?? null,
        isInGroup: deps.isInGroup,
        onFault,
        onBadFrame: deps.onProtocolViolation,
        onOutcome: (by, cid, report) => deps.onOutcome?.(by, cid, report),
        onBadFile: (from, sha256) =>
          deps.onProtocolViolation(
            from,
            sentence("error.the-content-of-file-sha256-does-not-match-its-hash", { sha256 }),
          ),
        onChanged: () => wakeAll(false),
        onAdmitted: (as) => sessions.set(session, as),
        onCommandHeard(by, cid) {
          for (const [other, its] of sessions) if (its === by) other.notifyHeard(cid);
        },
      });
      sessions.set(session, null);
      const closed = (): void => {
        session.stop();
        sessions.delete(session);
      };
      return { frame: session.receive, closed };
    },
    async publish(rows) {
      const applied = await store.transact(() => publishRows(rows, types));
      wakeAll(false);
      return applied;
    },
    async issue(issued) {
      await store.transact(function* () {
        for (const { endpoint, command } of issued) yield* issueCommand(endpoint, command, clock.now());
      }, "emergency");
      if (issued.some(({ command }) => command.kind === "replication-clean-up")) runGuarded(tick());
      wakeAll(true);
    },
    async cancel(ref, cancel) {
      await store.transact(() => issueCancellation(ref, cancel, clock.now()), "emergency");
      wakeAll(true);
    },
    async reassign(reassignment) {
      const isReassigned = await store.transact(() => reassignCommand(reassignment, clock.now()), "emergency");
      if (isReassigned) wakeAll(true);
      return isReassigned;
    },
    outcomes: (cid) => store.read(() => readCommandOutcomes(cid)),
    async setScopes(endpoint, scopes) {
      await store.transact(() => setSiteScopes(endpoint, scopes));
      wakeAll(true);
    },
    compareDigests,
    wake: () => wakeAll(false),
    stop() {
      isStopped = true;
      for (const timer of timers) timer.cancel();
      for (const session of sessions.keys()) session.stop();
      sessions.clear();
    },
  };
}
