import type { Command } from "commander";
import { type ApiClient, type ApiPage, listAll } from "../../api-client/api-client.ts";
import { systemClock } from "../../lib/clock.ts";
import { EXIT } from "../../lib/exit-codes.ts";
import type { Terminal } from "../../lib/terminal.ts";
import { formatTable } from "../../lib/text-table.ts";
import { type ApplianceOptions, addApplianceOptions, apiClientFrom } from "../appliance-options.ts";
import { isActive, type MessageRow, newestMessages, resultOf } from "./message-rows.ts";
import { type OwnEndpoint, readOwnEndpoint, siteTime } from "./site-times.ts";

interface NextRing {
  at: string;
  bellSchedule: { name: string };
  messageTemplate: { name: string } | null;
}

interface Status {
  appliance: Pick<OwnEndpoint, "name" | "status" | "redReasons" | "yellowReasons"> & { version: string };
  /** Sent now, or waiting for a second person. */
  messages: MessageRow[];
  nextRings: NextRing[];
  alarms: { type: string; acknowledgedAt: string | null }[];
  emergencies: { name: string; state: string }[];
}

const NEXT_RINGS = 5;

/** `carillon status`: what is wrong, what is sent now, what rings next. */
export function addStatus(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  addApplianceOptions(program.command("status"), terminal)
    .description("Show the health of the appliance, what is sent now, the next bells and what needs attention.")
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      "\nExample:\n  carillon status\n\n" +
        "Times are local times of the site. Exit code 1 when the health is RED or an emergency would reach no one.",
    )
    .action(async (options: ApplianceOptions & { json?: true }) => {
      const api = apiClientFrom(options, terminal);
      const own = await readOwnEndpoint(api);
      const status = await readStatus(api, own);
      if (options.json) terminal.out(JSON.stringify(status));
      else for (const line of linesOf(status, own)) terminal.out(line);
      const isBad = own.status === "RED" || status.emergencies.some(({ state }) => state === "unreachable");
      finish(isBad ? EXIT.failure : EXIT.ok);
    });
}

async function readStatus(api: ApiClient, own: OwnEndpoint): Promise<Status> {
  const [newest, rings, alarms, { emergencies }] = await Promise.all([
    newestMessages(api),
    api.get<ApiPage<NextRing>>(`/bell-rings?limit=${NEXT_RINGS}`),
    listAll<Status["alarms"][number]>(api, "/alarms?status=ACTIVE"),
    api.get<Pick<Status, "emergencies">>("/emergencies"),
  ]);
  const { name, status, redReasons, yellowReasons, buildInfo } = own;
  return {
    appliance: { name, status, redReasons, yellowReasons, version: buildInfo.version },
    messages: newest.filter((row) => isActive(row) || row.approval === "waiting"),
    nextRings: rings.data,
    alarms,
    emergencies,
  };
}

function linesOf({ appliance, messages, nextRings, alarms, emergencies }: Status, { clock }: OwnEndpoint): string[] {
  const title = (text: string, lines: readonly string[], more = ""): string[] => [
    "",
    text,
    ...lines.map((line) => `  ${line}`),
    ...(more ? [`  ${more}`] : []),
  ];
  const today = siteTime(new Date(systemClock.now()).toISOString(), clock).slice(0, 10);
  const time = (iso: string): string => siteTime(iso, clock).replace(`${today} `, "");
  const unready = emergencies.filter(({ state }) => state !== "ready");
  const open = alarms.filter(({ acknowledgedAt }) => acknowledgedAt === null);
  return [
    `${appliance.name ?? "Appliance"}: ${appliance.status}, Carillon ${appliance.version}`,
    ...[...appliance.redReasons, ...appliance.yellowReasons].map((reason) => `  ${reason}`),
    ...(messages.length === 0
      ? title("Nothing is sent now.", [])
      : title(
          "Sent now:",
          formatTable(
            messages.map((row) => [subjectOf(row), time(row.soundsAt ?? row.createdAt), resultOf(row), row.id]),
          ),
          "Stop one: carillon stop ID",
        )),
    ...(nextRings.length === 0
      ? title("No bells are planned.", [])
      : title(
          "Next bells:",
          formatTable(
            nextRings.map((ring) => [
              time(ring.at),
              ring.messageTemplate?.name ?? "(no message)",
              ring.bellSchedule.name,
            ]),
          ),
        )),
    ...(open.length > 0
      ? title(
          `Alarms not acknowledged: ${open.length}`,
          open.map(({ type }) => type),
          "Reasons: carillon alarms",
        )
      : []),
    ...(unready.length > 0
      ? title(
          `Emergencies that are not ready: ${unready.length} of ${emergencies.length}`,
          formatTable(unready.map(({ name, state }) => [name, state])),
          "Reasons: carillon emergencies",
        )
      : []),
  ];
}

/** The subject, with what matters about it. */
function subjectOf({ subject, drill, priority }: MessageRow): string {
  const marks = [...(priority === "critical" ? ["emergency"] : []), ...(drill ? ["drill"] : [])];
  return `${subject ?? "(no subject)"}${marks.length > 0 ? ` (${marks.join(", ")})` : ""}`;
}
