import type { Command, CommandFrame, Outcome } from "../frames.ts";
import { type Collection, collection, get, put, scan, type Work } from "../work.ts";
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
  at: number;
}

/** Commands and what became of them. */
export const INBOX: Collection<Kept> = collection<Kept>(
  "repl_inbox",
  ["cid"],
  { cid: "text", state: "text", command: "json", at: "integer" },
  { state: ["state", "cid"] },
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
export function* receiveCommand({ cseq, command }: CommandFrame, uid: string, at: number): Work<Received> {
  const link = yield* linkState();
  yield* put(LINK, { ...link, cmdHw: Math.max(link.cmdHw, cseq) });
  const known = yield* get(INBOX, command.cid);
  if (known) {
    if (known.state !== "armed") yield* report(command.cid, known.state, uid, at);
    return NOTHING;
  }
  // What it was is forgotten, so whether it sounded can't be said.
  if (cseq <= link.cmdHw) {
    yield* report(command.cid, "unknown", uid, at);
    return NOTHING;
  }
  if (command.kind === "cancel") return yield* cancel(command, uid, at);
  yield* put(INBOX, { cid: command.cid, state: "armed", command, at });
  return { armed: command, silence: null };
}

/** A cancel that comes first leaves word of itself. */
function* cancel(command: Command, uid: string, at: number): Work<Received> {
  yield* put(INBOX, { cid: command.cid, state: "done", command, at });
  yield* report(command.cid, "done", uid, at);
  const ref = command.ref as string;
  const target = yield* get(INBOX, ref);
  if (!target) {
    yield* put(INBOX, { cid: ref, state: "cancelled", command: null, at });
    return NOTHING;
  }
  if (target.state !== "armed" && target.state !== "started") return NOTHING;
  yield* put(INBOX, { ...target, state: "cancelled" });
  yield* report(ref, "cancelled", `${uid}/ref`, at);
  return { armed: null, silence: ref };
}

/** Moves a command on, if it still stands where it is thought to be. False when it does not. */
export function* moveCommand(
  cid: string,
  from: CommandState,
  to: CommandState,
  uid: string,
  at: number,
): Work<boolean> {
  const kept = yield* get(INBOX, cid);
  if (kept?.state !== from) return false;
  yield* put(INBOX, { ...kept, state: to });
  // Others are told of a start only once it is heard.
  if (to !== "armed" && to !== "started") yield* report(cid, to, uid, at);
  return true;
}

/** Tells the cloud that a command is heard, whoever else waits for it. */
export function* reportHeard(cid: string, uid: string, at: number): Work<void> {
  const kept = yield* get(INBOX, cid);
  if (kept?.state === "started") yield* report(cid, "started", uid, at);
}

function* report(cid: string, outcome: Outcome, uid: string, at: number): Work<void> {
  yield* enqueue("hot", { uid, op: "p", type: "outcome", id: cid, body: { outcome, at }, at });
}

/**
 * After a start: what was sounding is armed again if it is an emergency, whose silence is worse than its repetition, else
 * it was interrupted. Returns all armed commands.
 */
export function* resumeCommands(uidOf: (cid: string) => string, at: number): Work<Command[]> {
  for (const { cid, command } of yield* scan(INBOX, { by: "state", where: ["started"] })) {
    const next = command?.class === "emergency" ? "armed" : "interrupted";
    yield* moveCommand(cid, "started", next, uidOf(cid), at);
  }
  const armed = yield* scan(INBOX, { by: "state", where: ["armed"] });
  return armed.flatMap(({ command }) => (command ? [command] : []));
}

/** After a restore: whether commands that stand as armed were carried out meanwhile can't be known. Emergencies stay. */
export function* disownArmed(uidOf: (cid: string) => string, at: number): Work<string[]> {
  const armed = yield* scan(INBOX, { by: "state", where: ["armed"] });
  const disowned = armed.filter(({ command }) => command?.class !== "emergency").map(({ cid }) => cid);
  for (const cid of disowned) yield* moveCommand(cid, "armed", "unknown", uidOf(cid), at);
  return disowned;
}
