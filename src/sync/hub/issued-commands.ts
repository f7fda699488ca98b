import type { CommandFrame, CommandOutcome, SyncCommand } from "../protocol/frames.ts";
import { putRecord, scanRecords, type TransactionProgram } from "../storage/transaction-program.ts";
import { ISSUED_COMMANDS, type IssuedCommand } from "./tables.ts";

export function* issueCommand(endpoint: string, command: SyncCommand, at: number): TransactionProgram<void> {
  const newest = (yield* scanRecords(ISSUED_COMMANDS, { where: [endpoint], newestFirst: true, limit: 1 }))[0];
  const cseq = (newest?.cseq ?? 0) + 1;
  const none = { sentInc: null, outcome: null, saidBy: null };
  yield* putRecord(ISSUED_COMMANDS, { endpoint, cseq, cid: command.cid, command, open: 1, at, ...none });
}

/** Cancels a command wherever it was issued. One that was never sent ends at once; otherwise the appliance reports the result. */
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

/** Passes a command to another appliance because the first one is not connected or does not respond. */
export interface CommandReassignment {
  from: string;
  /** Id of the command there. */
  ref: string;
  to: string;
  /** The command for the other appliance, with the same id, so that devices drop duplicates, unless it had that id before. */
  command: SyncCommand;
  /** Cancel sent to the first appliance if it may have the command; null lets both play. */
  cancel: Omit<SyncCommand, "kind" | "ref"> | null;
  /** The first appliance has reported an end; otherwise nothing is done once it does. */
  hasEnded: boolean;
}

/**
 * Passes a command to another appliance. The first one never gets it if it was not sent yet; if it may have it, the other one
 * waits for evidence as rank 1. False if the command has ended.
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

/** An outcome that the cloud concluded without a report. */
export interface ConcludedCommand {
  endpoint: string;
  cid: string;
  outcome: CommandOutcome;
}

function* concludeCommand(issued: IssuedCommand, outcome: CommandOutcome): TransactionProgram<ConcludedCommand> {
  yield* putRecord(ISSUED_COMMANDS, { ...issued, open: 0, outcome, saidBy: "hub" });
  return { endpoint: issued.endpoint, cid: issued.cid, outcome };
}

/** @source docs/decisions/0300-sync-limits.md */
const BATCH_SIZE = 16;

/**
 * The next commands after `after`, recorded as sent before they are sent. Expired ones are never sent: what certainly did not
 * arrive is `expired`. `more` if others may follow; `lost` are those that will never be sent.
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
    // It has arrived; the appliance will report the outcome.
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

/** Whether another appliance reported the same command as done. */
function* isDoneElsewhere({ cid, endpoint }: IssuedCommand): TransactionProgram<boolean> {
  const all = yield* scanRecords(ISSUED_COMMANDS, { by: "cid", where: [cid] });
  return all.some((other) => other.endpoint !== endpoint && other.outcome === "done" && other.saidBy === "site");
}

/**
 * Ends routine commands of an appliance that came back as an older copy and may have forgotten that it carried them out.
 * Emergencies are repeated.
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

/** Expires commands that were never sent, for appliances that do not connect. */
export function* expireUnsentCommands(endpoint: string, now: number): TransactionProgram<ConcludedCommand[]> {
  const lost: ConcludedCommand[] = [];
  for (const issued of yield* scanRecords(ISSUED_COMMANDS, { by: "open", where: [endpoint, 1] })) {
    if (issued.sentInc === null && issued.command.notAfter < now) lost.push(yield* concludeCommand(issued, "expired"));
  }
  return lost;
}

/** Records an outcome. Returns the other appliances that wait for evidence of the command. */
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

/** Outcome by appliance; null while open. */
export function* readCommandOutcomes(cid: string): TransactionProgram<Record<string, CommandOutcome | null>> {
  const all = yield* scanRecords(ISSUED_COMMANDS, { by: "cid", where: [cid] });
  return Object.fromEntries(all.map(({ endpoint, outcome }) => [endpoint, outcome]));
}
