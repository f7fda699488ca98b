import type { Command } from "commander";
import { type ConformanceResult, runConformance } from "../tools/conformance/run-conformance.ts";
import { createConformanceTarget } from "../tools/conformance/target.ts";
import { EXIT } from "./exit-codes.ts";
import type { Terminal } from "./terminal.ts";

interface ConformOptions {
  url: string;
  token?: string;
  limits?: true;
  json?: true;
}

/** `carillon conform`: holds any server against the documented interface. */
export function addConformance(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  program
    .command("conform")
    .description("Hold a server against the documented interface: every path, operation and field of it.")
    .requiredOption("--url <url>", "the server's address, with or without /api")
    .option("--token <token>", "an administrator's token; taken from CARILLON_TOKEN unless given")
    .option(
      "--limits",
      "also fill families up to their limits of at most 200 rows, which leaves others no room meanwhile",
    )
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      "\nExample:\n  carillon conform --url http://127.0.0.1:8080 --token …\n\n" +
        "Rows are made on the server, among them a message to a user without devices, and deleted at the end.\n" +
        "Exit code 1 when something is missing.",
    )
    .action(async ({ url, token = terminal.env.CARILLON_TOKEN ?? "", limits, json }: ConformOptions) => {
      const result = await runConformance(createConformanceTarget(url, token), {
        limits: limits === true,
        onPath: (at) => terminal.errIsTerminal && terminal.err(at),
      });
      terminal.out(json ? JSON.stringify(result) : describeConformance(result));
      finish(result.missing === 0 && result.left.length === 0 ? EXIT.ok : EXIT.failure);
    });
}

/** The report for people: what is wrong, path by path, and the sum in the last line. */
function describeConformance(result: ConformanceResult): string {
  const { findings, unserved, unservedOnPremises, left, paths, operations, fields, missing } = result;
  return [
    ...unserved.map((at) => `${at}: not served`),
    ...unservedOnPremises.map((family) => `onprem/v1/${family}: not served`),
    ...findings.map(({ at, message }) => `${at}: ${message}`),
    ...left.map((path) => `${path}: made by this run and still there`),
    `paths ${paths}, operations ${operations}, fields ${fields}, missing ${missing}`,
  ].join("\n");
}
