import { type Command, Option } from "commander";
import { CallerError } from "../lib/errors.ts";
import { EXIT } from "../lib/exit-codes.ts";
import type { Terminal } from "../lib/terminal.ts";
import type { ConformanceResult } from "../tools/conformance/run-conformance.ts";

interface ConformanceOptions {
  against?: string;
  url?: string;
  token?: string;
  limits?: true;
  json?: true;
}

/** `carillon conformance`, alias `conform`: checks any server for conformance with the documented API. */
export function addConformance(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  program
    .command("conformance")
    .alias("conform")
    .description("Check a server for API conformance: every documented path, operation and field.")
    .option("--against <url>", "base URL of the server, with or without /api")
    .addOption(new Option("--url <url>", "the same").conflicts("against"))
    .option("--token <token>", "token of an administrator; or set CARILLON_TOKEN")
    .option(
      "--limits",
      "also fill resources up to their limits of at most 200 rows; others can't create rows during the run",
    )
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      "\nExample:\n  carillon conformance --against http://127.0.0.1:8080 --token …\n\n" +
        "The run creates rows on the server, among them a message to a user without devices, and deletes them at the end.\n" +
        "Exit code 1 when something is missing or rows are left. `carillon conform` is an alias.",
    )
    .action(
      async ({
        against,
        url = against ?? "",
        token = terminal.env.CARILLON_TOKEN ?? "",
        limits,
        json,
      }: ConformanceOptions) => {
        const { runConformance } = await import("../tools/conformance/run-conformance.ts");
        const { createConformanceTarget } = await import("../tools/conformance/target.ts");
        if (url === "") throw new CallerError("required", "--against needs the base URL of a server.");
        const result = await runConformance(createConformanceTarget(url, token), {
          limits: limits === true,
          onPath: (at) => terminal.errIsTerminal && terminal.err(at),
        });
        terminal.out(json ? JSON.stringify(result) : describeConformance(result));
        finish(result.missing === 0 && result.left.length === 0 ? EXIT.ok : EXIT.failure);
      },
    );
}

/** The report for people: the findings path by path, and the totals in the last line. */
function describeConformance(result: ConformanceResult): string {
  const { findings, unserved, unservedOnPremises, left, paths, operations, fields, missing } = result;
  return [
    ...unserved.map((at) => `${at}: not served`),
    ...unservedOnPremises.map((family) => `onprem/v1/${family}: not served`),
    ...findings.map(({ at, message }) => `${at}: ${message}`),
    ...left.map((path) => `${path}: created by this run and not deleted`),
    `paths ${paths}, operations ${operations}, fields ${fields}, missing ${missing}`,
  ].join("\n");
}
