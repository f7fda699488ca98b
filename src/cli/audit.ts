import type { Command } from "commander";
import { systemClock } from "../lib/clock.ts";
import { invalidValue } from "../lib/errors.ts";
import type { AuditRange, AuditVerification } from "../store/audit-chain.ts";
import { runControlCommand } from "../wiring/offline-commands.ts";
import { EXIT } from "./exit-codes.ts";
import type { Terminal } from "./terminal.ts";

interface VerifyOptions {
  data: string;
  noted?: string;
  json?: true;
}

/** `carillon audit verify`: whether the audit is still what was written, with the daemon running or not. */
export function addAudit(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  const audit = program
    .command("audit")
    .description("Check the record of who did what; works while the daemon runs and while it does not.")
    .addHelpText("after", "\nExample:\n  carillon audit verify --data data");
  audit
    .command("verify")
    .description("Follow the chain of hashes from the first entry to the last and say where it breaks.")
    .option("--data <dir>", "the appliance's data", "data")
    .option(
      "--noted <number:hash>",
      "last entry of an earlier run, as printed: shows whether the end was cut off since",
    )
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      "\nExample:\n  carillon audit verify --data data --json\n\n" +
        "Note the last line outside this machine: whoever can write the database can make the whole chain anew,\n" +
        "but not so that it ends in a hash that was noted. Exit code 1 when the chain is broken.",
    )
    .action(async ({ data, noted, json }: VerifyOptions) => {
      const verdict = await verify(data, noted === undefined ? {} : { noted: readNoted(noted) });
      terminal.out(json ? JSON.stringify(verdict) : inWords(verdict));
      finish(verdict.intact ? EXIT.ok : EXIT.failure);
    });
}

async function verify(dataDir: string, stretch: AuditRange): Promise<AuditVerification> {
  const verdict = (await runControlCommand(dataDir, "audit.verify", { ...stretch }, systemClock)) as AuditVerification;
  return verdict.finished ? verdict : verify(dataDir, { ...stretch, after: verdict.last });
}

function readNoted(text: string): AuditVerification["last"] {
  const match = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text);
  if (!match) throw invalidValue("noted", "It is a number, a colon and a hash, as an earlier run printed them.");
  return { number: Number(match[1]), hash: match[2] as string };
}

function inWords({ entries, last, broken }: AuditVerification): string {
  const end = `last entry ${last.number}:${last.hash}`;
  if (!broken) return `The audit is intact: ${entries} entries, ${end}`;
  const { number, id, at, reason } = broken;
  const which = id === null ? `entry ${number}` : `entry ${number} (${id}, ${at ?? "at no time"})`;
  return `The audit is broken at ${which}: ${reason}\nIntact before it: ${entries} entries, ${end}`;
}
