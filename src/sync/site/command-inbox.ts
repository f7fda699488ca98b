import { derivedId } from "../../lib/ids.ts";
import { requestFiles, SITE_FILE_REQUESTS } from "../files/file-requests.ts";
import type { CommandFrame, CommandOutcome, SyncCommand } from "../protocol/frames.ts";
import {
  type Collection,
  defineCollection,
  deleteRecord,
  getRecord,
  putRecord,
  type RowBody,
  scanRecords,
  type TransactionProgram,
} from "../storage/transaction-program.ts";
import { enqueue } from "./outbox.ts";
import { type ActivityContext, upsertActivity } from "./sync-activities.ts";
import { readSyncState } from "./sync-state.ts";
import { SYNC_STATE } from "./tables.ts";

/** State of a command here; `started` is committed before the first packet. */
export type CommandState = "armed" | CommandOutcome;

/** A stored command. `command` is null if its cancel arrived first. */
export interface InboxCommand {
  cid: string;
  state: CommandState;
  command: SyncCommand | null;
  /** Its expiry, or the local wall time if that is later; retention counts from then. */
  at: number;
}

export const COMMAND_INBOX: Collection<InboxCommand> = defineCollection<InboxCommand>(
  "sync_command_inbox",
  ["cid"],
  { cid: "text", state: "text", command: "json", at: "integer" },
  { state: ["state", "cid"], ended: ["state", "at"] },
);

/** Effect of a received command. */
export interface ReceivedCommand {
  /** A new command to schedule. */
  armed: SyncCommand | null;
  /** Id of a command to stop. */
  silence: string | null;
}

const NOTHING: ReceivedCommand = { armed: null, silence: null };

/**
 * Stores a command. A known one has no effect, but its outcome is reported again, because a restored cloud may have lost the
 * first report. @source docs/decisions/0040-replication.md, Section 5
 */
export function* receiveCommand(
  { cseq, command }: CommandFrame,
  journal: ActivityContext,
): TransactionProgram<ReceivedCommand> {
  const link = yield* readSyncState();
  yield* putRecord(SYNC_STATE, { ...link, commandHighWatermark: Math.max(link.commandHighWatermark, cseq) });
  const known = yield* getRecord(COMMAND_INBOX, command.cid);
  if (known) {
    if (known.state !== "armed") yield* enqueueOutcome(command.cid, known.state, journal);
    else yield* reportAccepted(command, journal);
    return NOTHING;
  }
  // A known number but an unknown id: the record was pruned, so whether it played cannot be said.
  if (cseq <= link.commandHighWatermark) {
    yield* enqueueOutcome(command.cid, "unknown", journal);
    return NOTHING;
  }
  if (command.kind === "cancel") return yield* applyCancel(command, journal);
  yield* requestFiles(SITE_FILE_REQUESTS, command.needs ?? [], { holder: "", rank: 0 });
  yield* putRecord(COMMAND_INBOX, {
    cid: command.cid,
    state: "armed",
    command,
    at: Math.max(journal.now, command.notAfter),
  });
  yield* reportAccepted(command, journal);
  yield* recordCommandActivity(command, "armed", journal);
  return { armed: command, silence: null };
}

/** A cancel that overtakes its command leaves a tombstone. */
function* applyCancel(command: SyncCommand, journal: ActivityContext): TransactionProgram<ReceivedCommand> {
  const at = Math.max(journal.now, command.notAfter);
  yield* putRecord(COMMAND_INBOX, { cid: command.cid, state: "done", command, at });
  yield* enqueueOutcome(command.cid, "done", journal);
  const ref = command.ref as string;
  const target = yield* getRecord(COMMAND_INBOX, ref);
  if (!target) {
    yield* putRecord(COMMAND_INBOX, { cid: ref, state: "cancelled", command: null, at });
    return NOTHING;
  }
  if (target.state !== "armed" && target.state !== "started") return NOTHING;
  yield* putRecord(COMMAND_INBOX, { ...target, state: "cancelled" });
  yield* enqueueOutcome(ref, "cancelled", journal);
  if (target.command) yield* recordCommandActivity(target.command, "cancelled", journal);
  return { armed: null, silence: ref };
}

/** Changes the state of a command if it still is `from`; false otherwise. */
export function* transitionCommand(
  cid: string,
  from: CommandState,
  to: CommandState,
  journal: ActivityContext,
  details: RowBody = {},
): TransactionProgram<boolean> {
  const kept = yield* getRecord(COMMAND_INBOX, cid);
  if (kept?.state !== from) return false;
  yield* putRecord(COMMAND_INBOX, { ...kept, state: to });
  // A start is reported with the first packet, see `reportStarted`.
  if (to === "armed" || to === "started") return true;
  yield* enqueueOutcome(cid, to, journal, details);
  if (kept.command) yield* recordCommandActivity(kept.command, to, journal, details);
  return true;
}

/** Reports the first packet of a command, so that appliances of higher rank stand down. */
export function* reportStarted(cid: string, journal: ActivityContext): TransactionProgram<void> {
  const kept = yield* getRecord(COMMAND_INBOX, cid);
  if (kept?.state === "started") yield* enqueueOutcome(cid, "started", journal);
}

/** Reports that a broadcast is stored durably: no other appliance needs to play it. */
function* reportAccepted({ cid, kind }: SyncCommand, { newId, now: at }: ActivityContext): TransactionProgram<void> {
  if (kind === "broadcast") yield* enqueue("hot", { uid: newId(), op: "p", type: "taken", id: cid, body: { at }, at });
}

function* enqueueOutcome(
  cid: string,
  outcome: CommandOutcome,
  { newId, now: at }: ActivityContext,
  details: RowBody = {},
): TransactionProgram<void> {
  yield* enqueue("hot", { uid: newId(), op: "p", type: "outcome", id: cid, body: { ...details, outcome, at }, at });
}

/** A remote command updates the activity that requested it, whose id is the command id; a broadcast has up to three activities. */
function* recordCommandActivity(
  { cid, kind, body }: SyncCommand,
  state: CommandState,
  journal: ActivityContext,
  details: RowBody = {},
): TransactionProgram<void> {
  const isOver = state !== "armed";
  const how = { state: isOver ? (state === "done" ? "success" : "fail") : "pending" } as const;
  const severity = how.state === "fail" ? "error" : "info";
  const activityDetails = { ...details, commandId: cid, outcome: isOver ? state : null };
  if (kind !== "broadcast") {
    const asked = body.value as RowBody | null | undefined;
    return yield* upsertActivity(journal, cid, { ...how, type: kind, severity, details: { ...asked, ...activityDetails } });
  }
  const { endpoint } = yield* readSyncState();
  const idOf = (type: string): string => derivedId("command", endpoint, cid, type);
  const pending = idOf("broadcast-pending");
  const pendingState = { state: isOver ? "success" : "pending", type: "broadcast-pending", severity: "info" } as const;
  yield* upsertActivity(journal, pending, { ...pendingState, details: { commandId: cid } });
  if (!isOver) return;
  const type = state === "done" ? "broadcast-complete" : "broadcast-failed";
  yield* upsertActivity(journal, idOf(type), { ...how, type, severity, details: activityDetails });
}

/** Outcome of a remote command that was running when the process ended (such as a restart or an upgrade); `armed` while open. */
export type ResumeCommand = (command: SyncCommand) => "done" | "failed" | "interrupted" | "armed";

/**
 * After a start: a playing emergency is armed again, because silence is worse than repetition; a routine command was
 * interrupted; for remote commands the rest of the product knows the outcome. Returns all armed commands.
 */
export function* resumeCommands(journal: ActivityContext, resumed: ResumeCommand): TransactionProgram<SyncCommand[]> {
  for (const { cid, command } of yield* scanRecords(COMMAND_INBOX, { by: "state", where: ["started"] })) {
    if (command && isResyncCommand(command)) {
      yield* requestFullResync();
      continue;
    }
    const next =
      command?.class === "emergency" ? "armed" : command?.class === "admin" ? resumed(command) : "interrupted";
    yield* transitionCommand(cid, "started", next, journal);
  }
  const armed = yield* scanRecords(COMMAND_INBOX, { by: "state", where: ["armed"] });
  return armed.flatMap(({ command }) => (command ? [command] : []));
}

/** After a restore: whether armed commands were carried out since the backup is unknown. Emergencies stay armed. */
export function* invalidateArmedCommands(journal: ActivityContext): TransactionProgram<string[]> {
  const armed = yield* scanRecords(COMMAND_INBOX, { by: "state", where: ["armed"] });
  const disowned = armed.filter(({ command }) => command?.class !== "emergency").map(({ cid }) => cid);
  for (const cid of disowned) yield* transitionCommand(cid, "armed", "unknown", journal);
  return disowned;
}

/** Both end with the checkpoint of the resync that they request. */
function isResyncCommand({ kind }: SyncCommand): boolean {
  return kind === "full-resync" || kind === "replication-queue-reset";
}

/** Requests a full resync with the next connection. */
export function* requestFullResync(): TransactionProgram<void> {
  yield* putRecord(SYNC_STATE, { ...(yield* readSyncState()), resyncRequested: 1 });
}

/** Completes the commands that requested a resync. */
export function* completeResyncCommands(journal: ActivityContext): TransactionProgram<void> {
  for (const { cid, command } of yield* scanRecords(COMMAND_INBOX, { by: "state", where: ["started"] })) {
    if (command && isResyncCommand(command)) yield* transitionCommand(cid, "started", "done", journal);
  }
}

/** Deletes commands that ended and expired before `before`; tombstones of cancels are kept as long. */
export function* pruneCommands(before: number, limit: number): TransactionProgram<number> {
  let forgotten = 0;
  for (const state of ENDED) {
    const ended = yield* scanRecords(COMMAND_INBOX, {
      by: "ended",
      where: [state],
      upTo: before,
      limit: limit - forgotten,
    });
    for (const { cid } of ended) yield* deleteRecord(COMMAND_INBOX, cid);
    forgotten += ended.length;
  }
  return forgotten;
}

const ENDED: readonly CommandOutcome[] = [
  "done",
  "expired",
  "cancelled",
  "interrupted",
  "failed",
  "skipped",
  "unknown",
];
