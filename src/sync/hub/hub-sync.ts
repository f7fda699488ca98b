import type { Clock, Timer } from "../../lib/clock.ts";
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
import { createSiteSession, type SiteSession } from "./site-session.ts";

/** What the cloud's side is made of. */
export interface HubSyncDeps {
  store: TransactionStore;
  clock: Pick<Clock, "now" | "every" | "defer">;
  types: ReplicatedTypes;
  limits: SyncLimits;
  blobs: BlobStore;
  newId(): string;
  /** Whether a group whose lease an appliance asks for is one that it is in; all are unless given. */
  isInGroup?(endpoint: string, group: string): boolean;
  /** An appliance sent what is no frame, or a file that is not what its name says. */
  onProtocolViolation(endpoint: string | null, reason: string): void;
  /** An appliance says what became of a command, with what it tells of it, or the cloud found out by itself; a hint. */
  onOutcome?(endpoint: string, cid: string, told: RowBody): void;
  onFault(error: unknown): void;
}

/** The cloud's side for one organisation. Its truth lies in the store: any number of these may serve the same one. */
export interface HubSync {
  start(): Promise<void>;
  /**
   * A connection stands; hand what arrives to what is returned, as JSON.parse gave it, and stop that when it ends.
   * `endpoint` is whom it authenticated as.
   */
  connected(wire: FrameTransport, endpoint?: string): { frame(value: unknown): void; closed(): void };
  /** What became of each row. */
  publish(rows: readonly RowPublication[]): Promise<ApplyResult[]>;
  /** Issues the same command to each endpoint; those of a group have different ranks. */
  issue(issued: readonly { endpoint: string; command: SyncCommand }[]): Promise<void>;
  cancel(ref: string, cancel: Omit<SyncCommand, "kind" | "ref">): Promise<void>;
  /** Gives a command to another appliance; false when the first one's has ended meanwhile. */
  reassign(passed: CommandReassignment): Promise<boolean>;
  outcomes(cid: string): Promise<Record<string, CommandOutcome | null>>;
  setScopes(endpoint: string, scopes: readonly string[] | null): Promise<void>;
  /** Has every appliance compare its rows with the cloud's now. */
  compareDigests(): void;
  /** Something was written into the feed. */
  wake(): void;
  stop(): void;
}

/** @source own choice: how often unsent commands are looked through, and how often all connections compare digests */
const TICK_MS = 5_000;
const DIGEST_CHECK_MS = 3600_000;

/** Makes the cloud's side. */
export function createHubSync(needs: HubSyncDeps): HubSync {
  const { store, clock, types, limits, onFault } = needs;
  const sessions = new Map<SiteSession, string | null>();
  const timers: Timer[] = [];
  let isStopped = false;
  let isLooking = false;

  const runGuarded = (job: Promise<unknown>): void => void job.catch((error) => !isStopped && onFault(error));
  const wakeAll = (commandsToo: boolean): void => {
    for (const session of sessions.keys()) session.wake(commandsToo);
  };

  function compareDigests(): void {
    for (const session of sessions.keys()) session.compareDigests();
    wakeAll(false);
  }

  async function tick(): Promise<void> {
    if (isLooking) return;
    isLooking = true;
    const lost = (commands: readonly ConcludedCommand[]): void => {
      for (const { endpoint, cid, outcome } of commands) needs.onOutcome?.(endpoint, cid, { outcome });
    };
    await runHubRetention(store, clock.now(), lost).finally(() => {
      isLooking = false;
    });
    // What another node wrote, and what was written just before this one was told.
    wakeAll(true);
  }

  return {
    async start() {
      await store.transact(() => initializeFeed(needs.newId()));
      timers.push(clock.every(TICK_MS, () => runGuarded(tick())));
      timers.push(clock.every(DIGEST_CHECK_MS, compareDigests));
    },
    connected(wire, endpoint) {
      const session: SiteSession = createSiteSession({
        store,
        clock,
        types,
        limits,
        blobs: needs.blobs,
        wire,
        endpoint: endpoint ?? null,
        isInGroup: needs.isInGroup,
        onFault,
        onBadFrame: needs.onProtocolViolation,
        onOutcome: (by, cid, told) => needs.onOutcome?.(by, cid, told),
        onBadFile: (from, sha256) => needs.onProtocolViolation(from, `The file ${sha256} is not what its name says.`),
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
    async reassign(passed) {
      const isPassed = await store.transact(() => reassignCommand(passed, clock.now()), "emergency");
      if (isPassed) wakeAll(true);
      return isPassed;
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
