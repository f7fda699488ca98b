import { constants, openAsBlob } from "node:fs";
import { access } from "node:fs/promises";
import { basename } from "node:path";
import type { Command } from "commander";
import type { ApiClient, ApiPage } from "../api-client/api-client.ts";
import { sleep, systemClock } from "../lib/clock.ts";
import { type ApplianceOptions, addApplianceOptions, apiClientFrom } from "./appliance-options.ts";
import { EXIT } from "./exit-codes.ts";
import type { Terminal } from "./terminal.ts";

interface BulkOptions extends ApplianceOptions {
  type: string;
  test?: true;
  commit?: true;
}

interface Upload {
  id: string;
  status: "success" | "ERROR" | "PENDING" | "RUNNING" | "COMPLETE";
  percentage: number;
  lineCount: number;
  errorCount: number;
}

const LOOK_EVERY_MS = 500;
const FAULTS_TOLD = 20;
const BAR = 30;

/** `carillon bulk`: sends a table to an appliance and follows it to its end. */
export function addBulk(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  addApplianceOptions(program.command("bulk <file>"), terminal)
    .description("Make rows of a table, all of its lines or none.")
    .requiredOption("--type <kind>", "what the lines are: speakers, device-groups, message-templates …; below are all")
    .option("--test", "try every line and keep nothing")
    .option("--commit", "try every line first, then make the rows if all are right")
    .addHelpText(
      "after",
      "\nExample:\n  carillon bulk speakers.tsv --type speakers --test --token …\n\n" +
        "The first line of the file names the fields; it is read with commas where its name ends in .csv, else with tabs.\n" +
        "An empty table of each kind: <url>/api/v1/bulk-uploads/templates/<kind>. The last line of stdout is the upload as JSON.\n\n" +
        "Kinds: api-devices, bell-schedules, call-aware-call-redirects, call-aware-routing-requests, device-groups,\n" +
        "dialing-configurations, message-templates, ring-lists, speakers.\n" +
        "People and their lists are no kind: load definitions bring them in and keep them (/load-definitions in the console).",
    )
    .action(async (file: string, options: BulkOptions) => {
      const api = apiClientFrom(options, terminal);
      const ended = await send(api, file, options, terminal);
      const isGood = ended.status === "COMPLETE" || ended.status === "success";
      if (!isGood) await printErrors(api, ended, terminal);
      terminal.out(JSON.stringify(ended));
      finish(isGood ? EXIT.ok : EXIT.failure);
    });
}

async function send(api: ApiClient, file: string, { type, test, commit }: BulkOptions, terminal: Terminal) {
  const contentType = /\.csv$/i.test(file) ? "text/csv" : "text/tab-separated-values";
  // The blob's own fault names neither the file nor what is wrong with it.
  await access(file, constants.R_OK);
  const bytes = await openAsBlob(file, { type: contentType });
  const testMode = Boolean(test ?? commit);
  const { id } = await api.post<Upload>("/bulk-uploads", { resourceType: type, contentType, testMode });
  await api.upload(`/bulk-uploads/${id}/file`, bytes, encodeURIComponent(basename(file)));
  const tried = await followUpload(api, id, terminal);
  if (!commit || test || tried.status !== "success") return tried;
  await api.post(`/bulk-uploads/${id}/commit`, {});
  return followUpload(api, id, terminal);
}

/** Looks until the upload has ended; people see a bar. */
async function followUpload(api: ApiClient, id: string, terminal: Terminal): Promise<Upload> {
  for (let isFirst = true; ; isFirst = false) {
    const upload = await api.get<Upload>(`/bulk-uploads/${id}`);
    const { status, percentage, lineCount, errorCount } = upload;
    const filled = Math.round((BAR * percentage) / 100);
    const bar = `[${"#".repeat(filled)}${"-".repeat(BAR - filled)}] ${percentage} % ${lineCount} lines, ${errorCount} faulty`;
    if (terminal.errIsTerminal) terminal.err(`${isFirst ? "" : "\x1b[1A\x1b[2K"}${bar}`);
    if (status !== "PENDING" && status !== "RUNNING") {
      if (!terminal.errIsTerminal) terminal.err(bar);
      return upload;
    }
    await sleep(systemClock, LOOK_EVERY_MS);
  }
}

async function printErrors(api: ApiClient, { id, errorCount }: Upload, terminal: Terminal): Promise<void> {
  const { data } = await api.get<ApiPage<{ line: number; resourceResponse: string }>>(
    `/bulk-uploads/${id}/logs?resourceCreated=false&limit=${FAULTS_TOLD}`,
  );
  for (const { line, resourceResponse } of data) terminal.err(`line ${line}: ${resourceResponse}`);
  if (errorCount > data.length) terminal.err(`… and ${errorCount - data.length} more`);
  terminal.err("Nothing was made.");
}
