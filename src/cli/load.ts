import { constants, openAsBlob } from "node:fs";
import { access } from "node:fs/promises";
import { basename } from "node:path";
import { type Command, Option } from "commander";
import { type ApiClient, listAll } from "../api-client/api-client.ts";
import { DELIMITERS, ENCODINGS, QUOTES } from "../importers/table-format.ts";
import { sleep, systemClock } from "../lib/clock.ts";
import { CallerError } from "../lib/errors.ts";
import { EXIT } from "../lib/exit-codes.ts";
import type { Terminal } from "../lib/terminal.ts";
import { type ApplianceOptions, addApplianceOptions, apiClientFrom } from "./appliance-options.ts";
import { counted } from "./counted.ts";

interface LoadOptions extends ApplianceOptions {
  file?: string;
  test?: true;
  confirm?: true;
  delimiter?: string;
  encoding?: string;
  quote?: string;
}

interface Message {
  file: string | null;
  line: number;
  column: string | null;
  message: string;
}

interface Run {
  id: string;
  state: "pending" | "running" | "applying" | "complete" | "failed" | "stopped";
  phase: string | null;
  percentage: number;
  waitingFor: string | null;
  reason: string | null;
  linesRead: number;
  linesWithErrors: number;
  files: { file: string; mode: string; delimiter: string; encoding: string; quote: string; lines: number }[] | null;
  errors: Message[] | null;
  warnings: Message[] | null;
  endedAt: string | null;
}

const POLL_INTERVAL_MS = 500;
const DETECT = "detect";

/** `carillon load`: imports people and lists from a source and follows the import to its end. */
export function addLoad(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  const choice = (flags: string, text: string, values: object): Option =>
    new Option(flags, `${text}; kept for later imports`).choices([DETECT, ...Object.keys(values)]);
  addApplianceOptions(program.command("load <source>"), terminal)
    .description("Import people and lists from a source, given by its name or id.")
    .option("--file <file>", "upload this table or OneRoster archive first")
    .option("--test", "dry run: show what would change and how the files were read")
    .option("--confirm", "go on although many people or memberships are removed, or a file is missing")
    .addOption(choice("--delimiter <name>", "separator of cells", DELIMITERS))
    .addOption(choice("--encoding <name>", "encoding of the files", ENCODINGS))
    .addOption(choice("--quote <name>", "quotes that enclose cells", QUOTES))
    .addHelpText(
      "after",
      "\nExample:\n  carillon load School --file roster.zip --test\n  carillon load School --confirm\n\n" +
        "Sources are created in the console (/load-definitions) or by the API. The last line of stdout is the import as JSON.",
    )
    .action(async (named: string, options: LoadOptions) => {
      const api = apiClientFrom(options, terminal);
      const path = `/load-definitions/${await findSource(api, named)}`;
      const format = formatOf(options);
      if (Object.keys(format).length > 0) await api.put(path, format);
      if (options.file !== undefined) {
        // An unreadable file fails later with an error that names neither the file nor the cause.
        await access(options.file, constants.R_OK);
        const type = /\.zip$/i.test(options.file) ? "application/zip" : "text/csv";
        const bytes = await openAsBlob(options.file, { type });
        await api.upload(`${path}/file`, bytes, encodeURIComponent(basename(options.file)));
      }
      const body = { dryRun: options.test === true, confirmed: options.confirm === true };
      const { id } = await api.post<Run>(`${path}/runs`, body);
      const run = await follow(api, `${path}/runs/${id}`, terminal);
      printFindings(run, terminal);
      terminal.out(JSON.stringify(run));
      finish(run.state === "complete" ? EXIT.ok : EXIT.failure);
    });
}

function formatOf(options: LoadOptions): Record<string, string | null> {
  const given = (["delimiter", "encoding", "quote"] as const).flatMap((name): [string, string | null][] => {
    const value = options[name];
    return value === undefined ? [] : [[name, value === DETECT ? null : value]];
  });
  return Object.fromEntries(given);
}

async function findSource(api: ApiClient, named: string): Promise<string> {
  const sources = await listAll<{ id: string; name: string }>(api, "/load-definitions");
  const found = sources.filter(({ id, name }) => id === named.toLowerCase() || name === named);
  if (found.length === 1 && found[0]) return found[0].id;
  const known = sources.map(({ name }) => name).join(", ") || "none";
  const fault = found.length > 1 ? "is ambiguous; use the id" : `not found. Existing sources: ${known}`;
  throw new CallerError(found.length > 1 ? "invalid-value" : "not-found", `Source ${named} ${fault}.`);
}

/** Polls until the import has ended; prints what it does whenever that changes. */
async function follow(api: ApiClient, path: string, terminal: Terminal): Promise<Run> {
  for (let last = ""; ; ) {
    const run = await api.get<Run>(path);
    const text = progressText(run);
    if (run.endedAt === null && text !== last) terminal.err(text);
    last = text;
    if (run.endedAt !== null) return run;
    await sleep(systemClock, POLL_INTERVAL_MS);
  }
}

function progressText({ phase, percentage, waitingFor, linesRead, state }: Run): string {
  if (waitingFor !== null) return `waiting for: ${waitingFor}`;
  if (phase === "reading") return `reading: ${counted(linesRead, "line")}`;
  return `${phase ?? state}: ${percentage} %`;
}

function printFindings(run: Run, terminal: Terminal): void {
  for (const { file, mode, delimiter, encoding, quote, lines } of run.files ?? []) {
    terminal.err(`${file}: ${mode}, ${counted(lines, "line")}, ${encoding}, separator ${delimiter}, quotes ${quote}`);
  }
  for (const message of run.errors ?? []) terminal.err(`error: ${describeMessage(message)}`);
  for (const message of run.warnings ?? []) terminal.err(`warning: ${describeMessage(message)}`);
  if (run.linesWithErrors > 0) terminal.err(`Lines with errors: ${run.linesWithErrors} of ${run.linesRead}.`);
  if (run.reason !== null) terminal.err(run.reason);
  if (run.state === "stopped") terminal.err("If the source is correct, go on with --confirm.");
}

function describeMessage({ file, line, column, message }: Message): string {
  const place = [file, line > 0 ? `line ${line}` : null, column].filter((part) => part !== null).join(", ");
  return place === "" ? message : `${place}: ${message}`;
}
