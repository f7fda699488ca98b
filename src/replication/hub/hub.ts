import type { Clock, Timer } from "../../base/clock.ts";
import type { Blobs } from "../blobs.ts";
import type { Command, Limits, Outcome, Wire } from "../frames.ts";
import type { ReplicatedTypes } from "../replicated-types.ts";
import type { Applied, Body, WorkStore } from "../work.ts";
import { tidy } from "./clean-up.ts";
import { type Concluded, issue, issueCancel, outcomesOf, type PassedOn, passOn } from "./commands.ts";
import { type Publication, prepareHub, publish } from "./publish.ts";
import { createSession, type Session } from "./session.ts";
import { setScopes } from "./welcome.ts";

/** What the cloud's side is made of. */
export interface HubNeeds {
  store: WorkStore;
  clock: Pick<Clock, "now" | "every" | "soon">;
  types: ReplicatedTypes;
  limits: Limits;
  blobs: Blobs;
  newId(): string;
  /** Whether a group whose lease an appliance asks for is one that it is in; all are unless given. */
  isInGroup?(endpoint: string, group: string): boolean;
  /** An appliance sent what is no frame, or a file that is not what its name says. */
  onBadPeer(endpoint: string | null, reason: string): void;
  /** An appliance says what became of a command, with what it tells of it, or the cloud found out by itself; a hint. */
  onOutcome?(endpoint: string, cid: string, told: Body): void;
  onFault(error: unknown): void;
}

/** The cloud's side for one organisation. Its truth lies in the store: any number of these may serve the same one. */
export interface Hub {
  start(): Promise<void>;
  /**
   * A connection stands; hand what arrives to what is returned, as JSON.parse gave it, and stop that when it ends.
   * `endpoint` is whom it authenticated as.
   */
  connected(wire: Wire, endpoint?: string): { frame(value: unknown): void; closed(): void };
  /** What became of each row. */
  publish(rows: readonly Publication[]): Promise<Applied[]>;
  /** Issues the same command to each endpoint; those of a group have different ranks. */
  command(issued: readonly { endpoint: string; command: Command }[]): Promise<void>;
  cancel(ref: string, cancel: Omit<Command, "kind" | "ref">): Promise<void>;
  /** Gives a command to another appliance; false when the first one's has ended meanwhile. */
  passOn(passed: PassedOn): Promise<boolean>;
  outcomes(cid: string): Promise<Record<string, Outcome | null>>;
  setScopes(endpoint: string, scopes: readonly string[] | null): Promise<void>;
  /** Has every appliance compare its rows with the cloud's now. */
  compare(): void;
  /** Something was written into the feed. */
  wake(): void;
  stop(): void;
}

/** @source own choice: how often unsent commands are looked through, and how often all connections compare digests */
const EXPIRE_MS = 5_000;
const COMPARE_MS = 3600_000;

/** Makes the cloud's side. */
export function createHub(needs: HubNeeds): Hub {
  const { store, clock, types, limits, onFault } = needs;
  const sessions = new Map<Session, string | null>();
  const timers: Timer[] = [];
  let isStopped = false;
  let isLooking = false;

  const guarded = (job: Promise<unknown>): void => void job.catch((error) => !isStopped && onFault(error));
  const wakeAll = (commandsToo: boolean): void => {
    for (const session of sessions.keys()) session.wake(commandsToo);
  };

  function compare(): void {
    for (const session of sessions.keys()) session.compare();
    wakeAll(false);
  }

  async function look(): Promise<void> {
    if (isLooking) return;
    isLooking = true;
    const lost = (commands: readonly Concluded[]): void => {
      for (const { endpoint, cid, outcome } of commands) needs.onOutcome?.(endpoint, cid, { outcome });
    };
    await tidy(store, clock.now(), lost).finally(() => {
      isLooking = false;
    });
    // What another node wrote, and what was written just before this one was told.
    wakeAll(true);
  }

  return {
    async start() {
      await store.transact(() => prepareHub(needs.newId()));
      timers.push(clock.every(EXPIRE_MS, () => guarded(look())));
      timers.push(clock.every(COMPARE_MS, compare));
    },
    connected(wire, endpoint) {
      const session: Session = createSession({
        store,
        clock,
        types,
        limits,
        blobs: needs.blobs,
        wire,
        endpoint: endpoint ?? null,
        isInGroup: needs.isInGroup,
        onFault,
        onBadFrame: needs.onBadPeer,
        onOutcome: (by, cid, told) => needs.onOutcome?.(by, cid, told),
        onBadFile: (from, sha256) => needs.onBadPeer(from, `The file ${sha256} is not what its name says.`),
        changed: () => wakeAll(false),
        admitted: (as) => sessions.set(session, as),
        heard(by, cid) {
          for (const [other, its] of sessions) if (its === by) other.heard(cid);
        },
      });
      sessions.set(session, null);
      const closed = (): void => {
        session.stop();
        sessions.delete(session);
      };
      return { frame: session.frame, closed };
    },
    async publish(rows) {
      const applied = await store.transact(() => publish(rows, types));
      wakeAll(false);
      return applied;
    },
    async command(issued) {
      await store.transact(function* () {
        for (const { endpoint, command } of issued) yield* issue(endpoint, command, clock.now());
      }, "emergency");
      if (issued.some(({ command }) => command.kind === "replication-clean-up")) guarded(look());
      wakeAll(true);
    },
    async cancel(ref, cancel) {
      await store.transact(() => issueCancel(ref, cancel, clock.now()), "emergency");
      wakeAll(true);
    },
    async passOn(passed) {
      const isPassed = await store.transact(() => passOn(passed, clock.now()), "emergency");
      if (isPassed) wakeAll(true);
      return isPassed;
    },
    outcomes: (cid) => store.read(() => outcomesOf(cid)),
    async setScopes(endpoint, scopes) {
      await store.transact(() => setScopes(endpoint, scopes));
      wakeAll(true);
    },
    compare,
    wake: () => wakeAll(false),
    stop() {
      isStopped = true;
      for (const timer of timers) timer.cancel();
      for (const session of sessions.keys()) session.stop();
      sessions.clear();
    },
  };
}
