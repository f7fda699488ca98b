import type { Command } from "commander";
import { type ApiClient, listAll } from "../../api-client/api-client.ts";
import { CallerError } from "../../lib/errors.ts";
import type { Terminal } from "../../lib/terminal.ts";
import { formatTable } from "../../lib/text-table.ts";
import { type ApplianceOptions, addApplianceOptions, apiClientFrom } from "../appliance-options.ts";
import { counted } from "../counted.ts";

interface CalendarsOptions extends ApplianceOptions {
  refresh?: true;
  confirm?: true;
}

interface Calendar {
  id: string;
  name: string;
  host: string | null;
  state: string;
  days: number | null;
  readAt: string | null;
  reason: string | null;
  pendingId: string | null;
}

/** `carillon bells calendars`: lists subscribed calendars, fetches one now, or confirms its changes. */
export function addCalendars(bells: Command, terminal: Terminal): void {
  addApplianceOptions(bells.command("calendars [calendar]"), terminal)
    .description("List subscribed calendars, or show one, given by its name or id, as JSON.")
    .option("--refresh", "fetch it now")
    .option("--confirm", "apply the changes that wait")
    .addHelpText(
      "after",
      "\nExample:\n  carillon bells calendars District --refresh\n  carillon bells calendars District --confirm",
    )
    .action(async (named: string | undefined, options: CalendarsOptions) => {
      const api = apiClientFrom(options, terminal);
      const calendars = await listAll<Calendar>(api, "/calendar-subscriptions");
      if (named === undefined) return terminal.out(tableOf(calendars).join("\n"));
      const found = calendars.find(({ id, name }) => id === named || name === named);
      if (!found) throw new CallerError("not-found", `There is no subscribed calendar ${named}.`);
      terminal.out(JSON.stringify(await act(api, found, options)));
    });
}

async function act(api: ApiClient, calendar: Calendar, { refresh, confirm }: CalendarsOptions): Promise<Calendar> {
  const path = `/calendar-subscriptions/${calendar.id}`;
  const shown = refresh ? await api.post<Calendar>(`${path}/refresh`, {}) : calendar;
  return confirm ? api.post<Calendar>(`${path}/confirmation`, { pendingId: shown.pendingId }) : shown;
}

function tableOf(calendars: readonly Calendar[]): string[] {
  const rows = calendars.map(({ name, host, state, days, readAt, reason }) => [
    ...[name, state, host ?? "-", counted(days ?? 0, "day"), readAt ?? "never read", reason ?? ""],
  ]);
  return rows.length === 0 ? ["No subscribed calendars."] : formatTable(rows);
}
