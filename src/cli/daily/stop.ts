import type { Command } from "commander";
import type { ApiClient } from "../../api-client/api-client.ts";
import { CallerError } from "../../lib/errors.ts";
import { EXIT } from "../../lib/exit-codes.ts";
import type { Terminal } from "../../lib/terminal.ts";
import { type ApplianceOptions, addApplianceOptions, apiClientFrom } from "../appliance-options.ts";
import { counted } from "../counted.ts";
import { isActive, type MessageRow, newestMessages } from "./message-rows.ts";

interface StopOptions extends ApplianceOptions {
  all?: true;
  json?: true;
}

/** `carillon stop` and `carillon all-clear`: end a message on its devices; tell its recipients that it is over. */
export function addStop(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  addApplianceOptions(program.command("stop [id]"), terminal)
    .description("Stop a message at once and clear its devices.")
    .option("--all", "stop everything that is sent now, emergencies too")
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      "\nExample:\n  carillon stop --all\n\nIds: carillon status. Its recipients are not told: see carillon all-clear.",
    )
    .action(async (id: string | undefined, options: StopOptions) => {
      const api = apiClientFrom(options, terminal);
      const rows = await messagesToStop(api, id, options);
      const failures: string[] = [];
      for (const row of rows)
        await api.post(`/notifications/${row.id}/activities`, { type: "abort" }).catch((error: unknown) => {
          failures.push(`${row.subject ?? row.id}: ${error instanceof Error ? error.message : error}`);
        });
      const stopped = rows.length - failures.length;
      if (options.json) terminal.out(JSON.stringify({ stopped, failures }));
      else if (rows.length === 0) terminal.err("Nothing is sent now.");
      else terminal.out(`Stopped: ${stopped} of ${counted(rows.length, "message")}.`);
      for (const failure of failures) terminal.err(failure);
      finish(failures.length > 0 ? EXIT.failure : EXIT.ok);
    });
  addApplianceOptions(program.command("all-clear <id>"), terminal)
    .description("Send the all-clear to all recipients of a message.")
    .option("--subject <text>", "subject; default: a text that names the message that is over")
    .option("--text <text>", "text below the subject")
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      "\nExample:\n  carillon all-clear 8d6bc1c8-6a8e-4f1b-9bb6-7d0a5b7f4a10\n\nIts result: carillon message ID, with the id that is printed.",
    )
    .action(async (id: string, options: ApplianceOptions & { subject?: string; text?: string; json?: true }) => {
      const api = apiClientFrom(options, terminal);
      const { subject, text: body } = options;
      const sent = await api.postIdempotent<{ id: string }>(`/notifications/${encodeURIComponent(id)}/all-clear`, {
        ...{ subject, body },
      });
      terminal.out(options.json ? JSON.stringify({ id: sent.id }) : sent.id);
    });
}

async function messagesToStop(
  api: ApiClient,
  id: string | undefined,
  { all }: StopOptions,
): Promise<Pick<MessageRow, "id" | "subject">[]> {
  if (id !== undefined && all) throw new CallerError("invalid-value", "Give an id or --all, not both.");
  if (id !== undefined) return [await api.get<MessageRow>(`/notifications/${encodeURIComponent(id)}`)];
  if (!all) throw new CallerError("required", "Message missing: give its id, or --all. Ids: carillon status");
  return (await newestMessages(api)).filter(isActive);
}
