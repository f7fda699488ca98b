import { constants, openAsBlob } from "node:fs";
import { access } from "node:fs/promises";
import { basename } from "node:path";
import type { Command } from "commander";
import type { ApiClient, ApiPage } from "../api-client/api-client.ts";
import { sleep, systemClock } from "../lib/clock.ts";
import { EXIT } from "../lib/exit-codes.ts";
import type { Terminal } from "../lib/terminal.ts";
import { type ApplianceOptions, addApplianceOptions, apiClientFrom } from "./appliance-options.ts";
import { counted } from "./counted.ts";

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

const POLL_INTERVAL_MS = 500;
const MAX_ERRORS_SHOWN = 20;
const BAR_WIDTH = 30;

/** `carillon bulk`: uploads a table to an appliance and follows the import to its end. */
export function addBulk(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  addApplianceOptions(program.command("bulk <file>"), terminal)
    .description("Create rows from a CSV or TSV file, all of its lines or none.")
    .requiredOption(
      "--type <kind>",
      "resource type of the lines: speakers, device-groups, message-templates …; all types are listed below",
    )
    .option("--test", "dry run: check every line and create nothing")
    .option("--commit", "check every line first, then create the rows if there is no error")
    .addHelpText(
      "after",
      "\nExample:\n  carillon bulk speakers.tsv --type speakers --test --token …\n\n" +
        "The first line of the file names the fields. Files whose name ends in .csv are comma-separated, all others tab-separated.\n" +
        "Empty template of a type: <url>/api/v1/bulk-uploads/templates/<type>. The last line of stdout is the upload as JSON.\n\n" +
        "Types: api-devices, bell-schedules, call-aware-call-redirects, call-aware-routing-requests, device-groups,\n" +
        "dialing-configurations, message-templates, ring-lists, speakers.\n" +
        "To import people and their lists, use load definitions, which also keep them up to date (/load-definitions in the console).",
    )
    .action(async (file: string, options: BulkOptions) => {
      const api = apiClientFrom(options, terminal);
      const upload = await send(api, file, options, terminal);
      const isGood = upload.status === "COMPLETE" || upload.status === "success";
      if (!isGood) await printErrors(api, upload, terminal);
      terminal.out(JSON.stringify(upload));
      finish(isGood ? EXIT.ok : EXIT.failure);
    });
}

async function send(api: ApiClient, file: string, { type, test, commit }: BulkOptions, terminal: Terminal) {
  const contentType = /\.csv$/i.test(file) ? "text/csv" : "text/tab-separated-values";
  // An unreadable file fails later with an error that names neither the file nor the cause.
  await access(file, constants.R_OK);
  const bytes = await openAsBlob(file, { type: contentType });
  const testMode = Boolean(test ?? commit);
  const { id } = await api.post<Upload>("/bulk-uploads", { resourceType: type, contentType, testMode });
  await api.upload(`/bulk-uploads/${id}/file`, bytes, encodeURIComponent(basename(file)));
  const checked = await followUpload(api, id, terminal);
  if (!commit || test || checked.status !== "success") return checked;
  await api.post(`/bulk-uploads/${id}/commit`, {});
  return followUpload(api, id, terminal);
}

/** Polls until the upload has ended; on a terminal a progress bar is shown. */
async function followUpload(api: ApiClient, id: string, terminal: Terminal): Promise<Upload> {
  for (let isFirst = true; ; isFirst = false) {
    const upload = await api.get<Upload>(`/bulk-uploads/${id}`);
    const { status, percentage, lineCount, errorCount } = upload;
    const filled = Math.round((BAR_WIDTH * percentage) / 100);
    const bar = `[${"#".repeat(filled)}${"-".repeat(BAR_WIDTH - filled)}] ${percentage} % ${counted(lineCount, "line")}, ${counted(errorCount, "error")}`;
    if (terminal.errIsTerminal) terminal.err(`${isFirst ? "" : "\x1b[1A\x1b[2K"}${bar}`);
    if (status !== "PENDING" && status !== "RUNNING") {
      if (!terminal.errIsTerminal) terminal.err(bar);
      return upload;
    }
    await sleep(systemClock, POLL_INTERVAL_MS);
  }
}

async function printErrors(api: ApiClient, { id, errorCount }: Upload, terminal: Terminal): Promise<void> {
  const { data } = await api.get<ApiPage<{ line: number; resourceResponse: string }>>(
    `/bulk-uploads/${id}/logs?resourceCreated=false&limit=${MAX_ERRORS_SHOWN}`,
  );
  for (const { line, resourceResponse } of data) terminal.err(`line ${line}: ${resourceResponse}`);
  if (errorCount > data.length) terminal.err(`… and ${errorCount - data.length} more`);
  terminal.err("Nothing was created.");
}
