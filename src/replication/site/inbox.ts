import { derivedId } from "../../base/ids.ts";
import type { Command, CommandFrame, Outcome } from "../frames.ts";
import { SITE_FILES, wantFiles } from "../wanted-files.ts";
import { type Body, type Collection, collection, drop, get, put, scan, type Work } from "../work.ts";
import { type Journal, tellOf } from "./activities.ts";
import { linkState } from "./link-state.ts";
import { enqueue } from "./outbox.ts";
import { LINK } from "./tables.ts";

/** How far a command got here; `started` is committed before its first sound. */
export type CommandState = "armed" | Outcome;

/** A command as it is kept. `command` is null for one whose cancel came first. */
export interface Kept {
  cid: string;
  state: CommandState;
  command: Command | null;
  /** By its own time limit, or by the wall clock here when that is later: it is remembered from then on. */
  at: number;
}

/** Commands and what became of them. */
export const INBOX: Collection<Kept> = collection<Kept>(
  "repl_inbox",
  ["cid"],
  { cid: "text", state: "text", command: "json", at: "integer" },
  { state: ["state", "cid"], ended: ["state", "at"] },
);

/** What a command that came led to. */
export interface Received {
  /** The command that is new and armed. */
  armed: Command | null;
  /** The command that must fall silent. */
  silence: string | null;
}

const NOTHING: Received = { armed: null, silence: null };

/**
 * Takes a command. One that is known already has no effect; what became of it is reported again, as the first report may
 * be lost with a cloud that was restored. @source replication.md 5
 */
export function* receiveCommand({ cseq, command }: CommandFrame, journal: Journal): Work<Received> {
  const link = yield* linkState();
  yield* put(LINK, { ...link, cmdHw: Math.max(link.cmdHw, cseq) });
  const known = yield* get(INBOX, command.cid);
  if (known) {
    if (known.state !== "armed") yield* report(command.cid, known.state, journal);
    else yield* reportTaken(command, journal);
    return NOTHING;
  }
  // What it was is forgotten, so whether it sounded can't be said.
  if (cseq <= link.cmdHw) {
    yield* report(command.cid, "unknown", journal);
    return NOTHING;
  }
  if (command.kind === "cancel") return yield* cancel(command, journal);
  yield* wantFiles(SITE_FILES, command.needs ?? [], { holder: "", rank: 0 });
  yield* put(INBOX, { cid: command.cid, state: "armed", command, at: Math.max(journal.now, command.notAfter) });
  yield* reportTaken(command, journal);
  yield* tellCommand(command, "armed", journal);
  return { armed: command, silence: null };
}

/** A cancel that comes first leaves word of itself. */
function* cancel(command: Command, journal: Journal): Work<Received> {
  const at = Math.max(journal.now, command.notAfter);
  yield* put(INBOX, { cid: command.cid, state: "done", command, at });
  yield* report(command.cid, "done", journal);
  const ref = command.ref as string;
  const target = yield* get(INBOX, ref);
  if (!target) {
    yield* put(INBOX, { cid: ref, state: "cancelled", command: null, at });
    return NOTHING;
  }
  if (target.state !== "armed" && target.state !== "started") return NOTHING;
  yield* put(INBOX, { ...target, state: "cancelled" });
  yield* report(ref, "cancelled", journal);
  if (target.command) yield* tellCommand(target.command, "cancelled", journal);
  return { armed: null, silence: ref };
}

/** Moves a command on, if it still stands where it is thought to be. False when it does not. */
export function* moveCommand(
  cid: string,
  from: CommandState,
  to: CommandState,
  journal: Journal,
  told: Body = {},
): Work<boolean> {
  const kept = yield* get(INBOX, cid);
  if (kept?.state !== from) return false;
  yield* put(INBOX, { ...kept, state: to });
  // Others are told of a start only once it is heard.
  if (to === "armed" || to === "started") return true;
  yield* report(cid, to, journal, told);
  if (kept.command) yield* tellCommand(kept.command, to, journal, told);
  return true;
}

/** Tells the cloud that a command is heard, whoever else waits for it. */
export function* reportHeard(cid: string, journal: Journal): Work<void> {
  const kept = yield* get(INBOX, cid);
  if (kept?.state === "started") yield* report(cid, "started", journal);
}

/** Tells that a message is here for good: whoever else could sound it need not. */
function* reportTaken({ cid, kind }: Command, { newId, now: at }: Journal): Work<void> {
  if (kind === "broadcast") yield* enqueue("hot", { uid: newId(), op: "p", type: "taken", id: cid, body: { at }, at });
}

function* report(cid: string, outcome: Outcome, { newId, now: at }: Journal, told: Body = {}): Work<void> {
  yield* enqueue("hot", { uid: newId(), op: "p", type: "outcome", id: cid, body: { ...told, outcome, at }, at });
}

/** An order is an activity of its own kind, under the id that whoever gave it knows; a sound is told under three names. */
function* tellCommand(
  { cid, kind, body }: Command,
  state: CommandState,
  journal: Journal,
  told: Body = {},
): Work<void> {
  const isOver = state !== "armed";
  const how = { state: isOver ? (state === "done" ? "success" : "fail") : "pending" } as const;
  const severity = how.state === "fail" ? "error" : "info";
  const more = { ...told, commandId: cid, outcome: isOver ? state : null };
  if (kind !== "broadcast") {
    const asked = body.value as Body | null | undefined;
    return yield* tellOf(journal, cid, { ...how, type: kind, severity, more: { ...asked, ...more } });
  }
  const { endpoint } = yield* linkState();
  const idOf = (type: string): string => derivedId("command", endpoint, cid, type);
  const pending = idOf("broadcast-pending");
  const begun = { state: isOver ? "success" : "pending", type: "broadcast-pending", severity: "info" } as const;
  yield* tellOf(journal, pending, { ...begun, more: { commandId: cid } });
  if (!isOver) return;
  const type = state === "done" ? "broadcast-complete" : "broadcast-failed";
  yield* tellOf(journal, idOf(type), { ...how, type, severity, more });
}

/** What became of an order that was under way when the process ended, as a restart or an upgrade asks for; `armed` while that is open. */
export type Resumed = (command: Command) => "done" | "failed" | "interrupted" | "armed";

/**
 * After a start: what was sounding is armed again if it is an emergency, whose silence is worse than its repetition, else
 * it was interrupted; of orders the rest of the product knows. Returns all armed commands.
 */
export function* resumeCommands(journal: Journal, resumed: Resumed): Work<Command[]> {
  for (const { cid, command } of yield* scan(INBOX, { by: "state", where: ["started"] })) {
    if (command && isResync(command)) {
      yield* askForAll();
      continue;
    }
    const next =
      command?.class === "emergency" ? "armed" : command?.class === "admin" ? resumed(command) : "interrupted";
    yield* moveCommand(cid, "started", next, journal);
  }
  const armed = yield* scan(INBOX, { by: "state", where: ["armed"] });
  return armed.flatMap(({ command }) => (command ? [command] : []));
}

/** After a restore: whether commands that stand as armed were carried out meanwhile can't be known. Emergencies stay. */
export function* disownArmed(journal: Journal): Work<string[]> {
  const armed = yield* scan(INBOX, { by: "state", where: ["armed"] });
  const disowned = armed.filter(({ command }) => command?.class !== "emergency").map(({ cid }) => cid);
  for (const cid of disowned) yield* moveCommand(cid, "armed", "unknown", journal);
  return disowned;
}

/** Both end with the mark of the resync that they ask for. */
function isResync({ kind }: Command): boolean {
  return kind === "full-resync" || kind === "replication-queue-reset";
}

/** Has all rows come anew, with the next connection. */
export function* askForAll(): Work<void> {
  yield* put(LINK, { ...(yield* linkState()), fresh: 1 });
}

/** A resync is over, and with it the orders for one. */
export function* endResyncOrders(journal: Journal): Work<void> {
  for (const { cid, command } of yield* scan(INBOX, { by: "state", where: ["started"] })) {
    if (command && isResync(command)) yield* moveCommand(cid, "started", "done", journal);
  }
}

/** Forgets commands that ended and whose time was over before then; a cancel that overtook its command waits as long. */
export function* forgetCommands(before: number, limit: number): Work<number> {
  let forgotten = 0;
  for (const state of ENDED) {
    const ended = yield* scan(INBOX, { by: "ended", where: [state], upTo: before, limit: limit - forgotten });
    for (const { cid } of ended) yield* drop(INBOX, cid);
    forgotten += ended.length;
  }
  return forgotten;
}

const ENDED: readonly Outcome[] = ["done", "expired", "cancelled", "interrupted", "failed", "skipped", "unknown"];
