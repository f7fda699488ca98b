import type { Command } from "commander";
import { systemClock } from "../lib/clock.ts";
import { invalidValue } from "../lib/errors.ts";
import { EXIT } from "../lib/exit-codes.ts";
import type { Terminal } from "../lib/terminal.ts";
import type { AuditRange, AuditVerification } from "../store/audit-types.ts";
import { runControlCommand } from "../wiring/run-control-command.ts";
import { counted } from "./counted.ts";

interface VerifyOptions {
  data: string;
  noted?: string;
  json?: true;
}

/** `carillon audit verify`: verifies the audit log's hash chain, with the daemon running or not. */
export function addAudit(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  const audit = program
    .command("audit")
    .description("Verify the audit log; works whether or not the daemon runs.")
    .addHelpText("after", "\nExample:\n  carillon audit verify --data data");
  audit
    .command("verify")
    .description("Verify the hash chain of the audit log from the first entry to the last and report the first break.")
    .option("--data <dir>", "data directory of the appliance", "data")
    .option(
      "--noted <number:hash>",
      "last entry of an earlier run, as printed then; detects a log that was truncated since",
    )
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      "\nExample:\n  carillon audit verify --data data --json\n\n" +
        "Compares with the ends that are kept in audit-end.json, in the log, in backups and, while the daemon runs, at the\n" +
        "cloud and at failover peers. Store the last line outside this machine as well: an attacker who has the database and\n" +
        "the secret key can't make the chain end in a hash that you noted earlier. Exit code 1 when the chain is broken.",
    )
    .action(async ({ data, noted, json }: VerifyOptions) => {
      const result = await verify(data, noted === undefined ? {} : { checkpoint: readNoted(noted) });
      terminal.out(json ? JSON.stringify(result) : describeVerification(result));
      finish(result.intact ? EXIT.ok : EXIT.failure);
    });
}

async function verify(dataDir: string, { checkpoint, ...range }: AuditRange): Promise<AuditVerification> {
  const args = { ...range, ...(checkpoint && { noted: checkpoint }) };
  const result = (await runControlCommand(dataDir, "audit.verify", args, systemClock)) as AuditVerification;
  if (result.finished) return result;
  return verify(dataDir, { ...range, ...(checkpoint && { checkpoint }), after: result.last });
}

function readNoted(text: string): AuditVerification["last"] {
  const match = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text);
  if (!match) throw invalidValue("noted", "Must be NUMBER:HASH, as an earlier run printed it.");
  return { number: Number(match[1]), hash: match[2] as string };
}

function describeVerification({ entries, last, broken }: AuditVerification): string {
  const end = `last entry ${last.number}:${last.hash}`;
  if (!broken) return `The audit log is intact: ${counted(entries, "entry", "entries")}, ${end}`;
  const { number, id, at, reason } = broken;
  const which = id === null ? `entry ${number}` : `entry ${number} (${id}, ${at ?? "no time"})`;
  return `The audit log is broken at ${which}: ${reason}\nIntact before it: ${counted(entries, "entry", "entries")}, ${end}`;
}
