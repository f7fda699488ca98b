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

/** How far a command got here; `started` is committed before its first sound. */
export type CommandState = "armed" | CommandOutcome;

/** A command as it is kept. `command` is null for one whose cancel came first. */
export interface InboxCommand {
  cid: string;
  state: CommandState;
  command: SyncCommand | null;
  /** By its own time limit, or by the wall clock here when that is later: it is remembered from then on. */
  at: number;
}

/** Commands and what became of them. */
export const COMMAND_INBOX: Collection<InboxCommand> = defineCollection<InboxCommand>(
  "sync_command_inbox",
  ["cid"],
  { cid: "text", state: "text", command: "json", at: "integer" },
  { state: ["state", "cid"], ended: ["state", "at"] },
);

/** What a command that came led to. */
export interface ReceivedCommand {
  /** The command that is new and armed. */
  armed: SyncCommand | null;
  /** The command that must fall silent. */
  silence: string | null;
}

const NOTHING: ReceivedCommand = { armed: null, silence: null };

/**
 * Takes a command. One that is known already has no effect; what became of it is reported again, as the first report may
 * be lost with a cloud that was restored. @source replication.md 5
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
  // What it was is forgotten, so whether it sounded can't be said.
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

/** A cancel that comes first leaves word of itself. */
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

/** Moves a command on, if it still stands where it is thought to be. False when it does not. */
export function* transitionCommand(
  cid: string,
  from: CommandState,
  to: CommandState,
  journal: ActivityContext,
  told: RowBody = {},
): TransactionProgram<boolean> {
  const kept = yield* getRecord(COMMAND_INBOX, cid);
  if (kept?.state !== from) return false;
  yield* putRecord(COMMAND_INBOX, { ...kept, state: to });
  // Others are told of a start only once it is heard.
  if (to === "armed" || to === "started") return true;
  yield* enqueueOutcome(cid, to, journal, told);
  if (kept.command) yield* recordCommandActivity(kept.command, to, journal, told);
  return true;
}

/** Tells the cloud that a command is heard, whoever else waits for it. */
export function* reportStarted(cid: string, journal: ActivityContext): TransactionProgram<void> {
  const kept = yield* getRecord(COMMAND_INBOX, cid);
  if (kept?.state === "started") yield* enqueueOutcome(cid, "started", journal);
}

/** Tells that a message is here for good: whoever else could sound it need not. */
function* reportAccepted({ cid, kind }: SyncCommand, { newId, now: at }: ActivityContext): TransactionProgram<void> {
  if (kind === "broadcast") yield* enqueue("hot", { uid: newId(), op: "p", type: "taken", id: cid, body: { at }, at });
}

function* enqueueOutcome(
  cid: string,
  outcome: CommandOutcome,
  { newId, now: at }: ActivityContext,
  told: RowBody = {},
): TransactionProgram<void> {
  yield* enqueue("hot", { uid: newId(), op: "p", type: "outcome", id: cid, body: { ...told, outcome, at }, at });
}

/** An order is an activity of its own kind, under the id that whoever gave it knows; a sound is told under three names. */
function* recordCommandActivity(
  { cid, kind, body }: SyncCommand,
  state: CommandState,
  journal: ActivityContext,
  told: RowBody = {},
): TransactionProgram<void> {
  const isOver = state !== "armed";
  const how = { state: isOver ? (state === "done" ? "success" : "fail") : "pending" } as const;
  const severity = how.state === "fail" ? "error" : "info";
  const details = { ...told, commandId: cid, outcome: isOver ? state : null };
  if (kind !== "broadcast") {
    const asked = body.value as RowBody | null | undefined;
    return yield* upsertActivity(journal, cid, { ...how, type: kind, severity, details: { ...asked, ...details } });
  }
  const { endpoint } = yield* readSyncState();
  const idOf = (type: string): string => derivedId("command", endpoint, cid, type);
  const pending = idOf("broadcast-pending");
  const begun = { state: isOver ? "success" : "pending", type: "broadcast-pending", severity: "info" } as const;
  yield* upsertActivity(journal, pending, { ...begun, details: { commandId: cid } });
  if (!isOver) return;
  const type = state === "done" ? "broadcast-complete" : "broadcast-failed";
  yield* upsertActivity(journal, idOf(type), { ...how, type, severity, details });
}

/** What became of an order that was under way when the process ended, as a restart or an upgrade asks for; `armed` while that is open. */
export type ResumeCommand = (command: SyncCommand) => "done" | "failed" | "interrupted" | "armed";

/**
 * After a start: what was sounding is armed again if it is an emergency, whose silence is worse than its repetition, else
 * it was interrupted; of orders the rest of the product knows. Returns all armed commands.
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

/** After a restore: whether commands that stand as armed were carried out meanwhile can't be known. Emergencies stay. */
export function* invalidateArmedCommands(journal: ActivityContext): TransactionProgram<string[]> {
  const armed = yield* scanRecords(COMMAND_INBOX, { by: "state", where: ["armed"] });
  const disowned = armed.filter(({ command }) => command?.class !== "emergency").map(({ cid }) => cid);
  for (const cid of disowned) yield* transitionCommand(cid, "armed", "unknown", journal);
  return disowned;
}

/** Both end with the mark of the resync that they ask for. */
function isResyncCommand({ kind }: SyncCommand): boolean {
  return kind === "full-resync" || kind === "replication-queue-reset";
}

/** Has all rows come anew, with the next connection. */
export function* requestFullResync(): TransactionProgram<void> {
  yield* putRecord(SYNC_STATE, { ...(yield* readSyncState()), resyncRequested: 1 });
}

/** A resync is over, and with it the orders for one. */
export function* completeResyncCommands(journal: ActivityContext): TransactionProgram<void> {
  for (const { cid, command } of yield* scanRecords(COMMAND_INBOX, { by: "state", where: ["started"] })) {
    if (command && isResyncCommand(command)) yield* transitionCommand(cid, "started", "done", journal);
  }
}

/** Forgets commands that ended and whose time was over before then; a cancel that overtook its command waits as long. */
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
