import { type Command, InvalidArgumentError } from "commander";
import type { Terminal } from "../../lib/terminal.ts";
import { formatTable } from "../../lib/text-table.ts";
import { type ApplianceOptions, addApplianceOptions, apiClientFrom } from "../appliance-options.ts";
import { newestMessages, resultOf } from "./message-rows.ts";
import { readOwnEndpoint, siteTime } from "./site-times.ts";

interface HistoryOptions extends ApplianceOptions {
  limit: number;
  json?: true;
}

const MAX_ROWS = 1_000;
const DEFAULT_ROWS = 20;

/** `carillon history`: the newest messages and whom they reached. */
export function addHistory(program: Command, terminal: Terminal): void {
  addApplianceOptions(program.command("history"), terminal)
    .description("List the newest messages and whom they reached.")
    .option("--limit <number>", `how many, at most ${MAX_ROWS}`, parseLimit, DEFAULT_ROWS)
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      "\nExample:\n  carillon history --limit 50\n\n" +
        "Times are local times of the site. The devices of one message: carillon message ID",
    )
    .action(async ({ limit, json, ...options }: HistoryOptions) => {
      const api = apiClientFrom(options, terminal);
      const data = await newestMessages(api, limit);
      if (json) return terminal.out(JSON.stringify(data));
      if (data.length === 0) return terminal.err("No messages yet. Send one: carillon send --help");
      const { clock } = await readOwnEndpoint(api);
      const rows = data.map((row) => [
        siteTime(row.soundsAt ?? row.createdAt, clock),
        `${row.subject ?? "(no subject)"}${row.drill ? " (drill)" : ""}`,
        resultOf(row),
        row.id,
      ]);
      for (const line of formatTable([["Time", "Message", "Result", "ID"], ...rows])) terminal.out(line);
    });
}

function parseLimit(given: string): number {
  const limit = Number(given);
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_ROWS)
    throw new InvalidArgumentError(`Must be a whole number from 1 to ${MAX_ROWS}.`);
  return limit;
}
