import type { CommandFrame, CommandOutcome, SyncCommand } from "../protocol/frames.ts";
import { putRecord, scanRecords, type TransactionProgram } from "../storage/transaction-program.ts";
import { ISSUED_COMMANDS, type IssuedCommand } from "./tables.ts";

/** Issues a command to an appliance. */
export function* issueCommand(endpoint: string, command: SyncCommand, at: number): TransactionProgram<void> {
  const newest = (yield* scanRecords(ISSUED_COMMANDS, { where: [endpoint], newestFirst: true, limit: 1 }))[0];
  const cseq = (newest?.cseq ?? 0) + 1;
  const none = { sentInc: null, outcome: null, saidBy: null };
  yield* putRecord(ISSUED_COMMANDS, { endpoint, cseq, cid: command.cid, command, open: 1, at, ...none });
}

/** Takes a command back wherever it was issued. Where it was never sent, that is all; else the appliance says what it did. */
export function* issueCancellation(
  ref: string,
  cancel: Omit<SyncCommand, "kind" | "ref">,
  at: number,
): TransactionProgram<string[]> {
  const targets = yield* scanRecords(ISSUED_COMMANDS, { by: "cid", where: [ref] });
  for (const target of targets) {
    if (target.open && target.sentInc === null) yield* concludeCommand(target, "cancelled");
    yield* issueCommand(target.endpoint, { ...cancel, kind: "cancel", ref }, at);
  }
  return targets.map(({ endpoint }) => endpoint);
}

/** A command that another appliance gets because the one that has it is not there, or says nothing of it. */
export interface CommandReassignment {
  from: string;
  /** The command there. */
  ref: string;
  to: string;
  /** What the other one gets: under the same name, so that a device drops it, unless it had that one before. */
  command: SyncCommand;
  /** Says so to the first one where it may have the command; null lets it sound as well, should it still begin. */
  cancel: Omit<SyncCommand, "kind" | "ref"> | null;
  /** The first one said how it ended; else nothing is done once it did. */
  hasEnded: boolean;
}

/**
 * Gives a command to another appliance in place of the one that has it, which never gets it if it was not sent to it. One
 * that may have it leaves the other the time of a rank to hear it. False when it has ended meanwhile.
 */
export function* reassignCommand(
  { from, ref, to, command, cancel, hasEnded }: CommandReassignment,
  at: number,
): TransactionProgram<boolean> {
  const target = (yield* scanRecords(ISSUED_COMMANDS, { by: "cid", where: [ref] })).find(
    ({ endpoint }) => endpoint === from,
  );
  if (target && !target.open && !hasEnded) return false;
  const isUnsure = target?.open === 1 && target.sentInc !== null;
  if (target?.open && !isUnsure) yield* concludeCommand(target, "skipped");
  if (isUnsure && cancel) yield* issueCommand(from, { ...cancel, kind: "cancel", ref }, at);
  yield* issueCommand(to, { ...command, rank: isUnsure && !cancel ? 1 : 0 }, at);
  return true;
}

/** What the cloud itself found out of a command that an appliance did not tell of. */
export interface ConcludedCommand {
  endpoint: string;
  cid: string;
  outcome: CommandOutcome;
}

function* concludeCommand(issued: IssuedCommand, outcome: CommandOutcome): TransactionProgram<ConcludedCommand> {
  yield* putRecord(ISSUED_COMMANDS, { ...issued, open: 0, outcome, saidBy: "hub" });
  return { endpoint: issued.endpoint, cid: issued.cid, outcome };
}

/** Commands that are noted as sent in one transaction. own choice */
const BATCH_SIZE = 16;

/**
 * The next commands to send after `after`, and where to go on; noted as sent before they are. One whose time is over is
 * never sent: what certainly did not arrive is expired. `more` when there may be others after them; `lost` are those that
 * never will be sent.
 */
export function* nextCommands(
  endpoint: string,
  { after, inc, cmdHw, now }: { after: number; inc: number; cmdHw: number; now: number },
): TransactionProgram<{ frames: CommandFrame[]; after: number; more: boolean; lost: ConcludedCommand[] }> {
  const open = yield* scanRecords(ISSUED_COMMANDS, { by: "open", where: [endpoint, 1], after, limit: BATCH_SIZE });
  const frames: CommandFrame[] = [];
  const lost: ConcludedCommand[] = [];
  for (const issued of open) {
    const { cseq, command, sentInc } = issued;
    // It has arrived, and what becomes of it will be told.
    if (sentInc === inc && cseq <= cmdHw) continue;
    if (command.notAfter < now) {
      lost.push(yield* concludeCommand(issued, sentInc === null || sentInc === inc ? "expired" : "unknown"));
      continue;
    }
    if (command.kind === "broadcast" && (yield* isDoneElsewhere(issued))) {
      yield* concludeCommand(issued, "skipped");
      continue;
    }
    yield* putRecord(ISSUED_COMMANDS, { ...issued, sentInc: inc });
    frames.push({ t: "cmd", cseq, command });
  }
  return { frames, after: open.at(-1)?.cseq ?? after, more: open.length === BATCH_SIZE, lost };
}

/** Another appliance says that it has carried the same command out. */
function* isDoneElsewhere({ cid, endpoint }: IssuedCommand): TransactionProgram<boolean> {
  const all = yield* scanRecords(ISSUED_COMMANDS, { by: "cid", where: [cid] });
  return all.some((other) => other.endpoint !== endpoint && other.outcome === "done" && other.saidBy === "site");
}

/**
 * An appliance came back as an older copy of itself, which may not remember what it carried out: an announcement is not
 * repeated for that, an emergency is.
 */
export function* concludeLostCommands(endpoint: string, inc: number): TransactionProgram<ConcludedCommand[]> {
  const lost: ConcludedCommand[] = [];
  for (const issued of yield* scanRecords(ISSUED_COMMANDS, { by: "open", where: [endpoint, 1] })) {
    const { sentInc, command } = issued;
    if (sentInc === null || sentInc >= inc || command.class === "emergency" || command.kind === "cancel") continue;
    lost.push(yield* concludeCommand(issued, "unknown"));
  }
  return lost;
}

/** Expires what was never sent to an appliance and is too late by now; for those that don't connect. */
export function* expireUnsentCommands(endpoint: string, now: number): TransactionProgram<ConcludedCommand[]> {
  const lost: ConcludedCommand[] = [];
  for (const issued of yield* scanRecords(ISSUED_COMMANDS, { by: "open", where: [endpoint, 1] })) {
    if (issued.sentInc === null && issued.command.notAfter < now) lost.push(yield* concludeCommand(issued, "expired"));
  }
  return lost;
}

/** Takes what an appliance says of a command. Returns the other appliances that still wait to hear of it. */
export function* recordCommandOutcome(
  endpoint: string,
  cid: string,
  outcome: CommandOutcome,
): TransactionProgram<string[]> {
  const all = yield* scanRecords(ISSUED_COMMANDS, { by: "cid", where: [cid] });
  const own = all.find((each) => each.endpoint === endpoint);
  const others = all.filter((each) => each.endpoint !== endpoint && each.open).map((each) => each.endpoint);
  if (outcome === "started") return others;
  if (own && own.saidBy !== "site") yield* putRecord(ISSUED_COMMANDS, { ...own, open: 0, outcome, saidBy: "site" });
  return outcome === "done" ? others : [];
}

/** What became of a command, by appliance; null while it is open. */
export function* readCommandOutcomes(cid: string): TransactionProgram<Record<string, CommandOutcome | null>> {
  const all = yield* scanRecords(ISSUED_COMMANDS, { by: "cid", where: [cid] });
  return Object.fromEntries(all.map(({ endpoint, outcome }) => [endpoint, outcome]));
}
