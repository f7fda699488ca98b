import { readFileSync } from "node:fs";
import { type Command, Option } from "commander";
import type { ApplianceStatus } from "../cloud-link/appliance-status.ts";
import type { NamedSecretTask } from "../cloud-link/secret-tasks.ts";
import type { LinkReport } from "../cloud-link/site-link.ts";
import { CallerError, UpstreamError } from "../lib/errors.ts";
import type { Terminal } from "../lib/terminal.ts";
import type { InitialSyncReport } from "../sync/site/initial-sync-report.ts";
import { sendControlCommand } from "../wiring/control-socket.ts";
import { requireDatabase } from "../wiring/require-database.ts";
import { counted } from "./counted.ts";

interface CodeOptions {
  data: string;
  endpoint?: string;
  domain?: string[];
  json?: true;
}

interface EnrolOptions {
  data: string;
  hub: string;
  code?: string;
  mode: string;
  authority?: string;
}

/** `carillon link code | enrol | status | secrets | revoke | leave`: links an appliance to the cloud; needs the running daemon. */
export function addLink(program: Command, terminal: Terminal): void {
  const link = program
    .command("link")
    .description("Link an appliance to the cloud of its organisation; the daemon must run.")
    .addHelpText(
      "after",
      "\nExample:\n  carillon link code --data cloud\n" +
        "  carillon link enrol --data data --hub https://cloud.example.org --code 7K3Q-F9XM-2TAB --mode adopt\n" +
        "  carillon link status --data data",
    );
  addCode(link, terminal);
  addEnrol(link, terminal);
  addStatus(link, terminal);
  addInitialSync(link, terminal);
  addSecrets(link, terminal);
  link
    .command("revoke")
    .description(
      "At the cloud: revoke an appliance's certificate. Its link closes; to link again it must be enrolled with a new code.",
    )
    .requiredOption("--data <dir>", "data directory of the cloud")
    .requiredOption("--endpoint <id>", "endpoint id of the appliance")
    .addHelpText("after", "\nExample:\n  carillon link revoke --data cloud --endpoint 0199…")
    .action(async ({ data, endpoint }: { data: string; endpoint: string }) => {
      await runCommand(data, "link.revoke", { endpoint });
      terminal.out(`Revoked the appliance ${endpoint}.`);
    });
  link
    .command("leave")
    .description("Unlink the appliance from the cloud; its rows stay as they are. The daemon restarts.")
    .requiredOption("--data <dir>", "data directory of the appliance")
    .addHelpText("after", "\nExample:\n  carillon link leave --data data")
    .action(async ({ data }: { data: string }) => {
      await runCommand(data, "link.leave", {});
      terminal.out("The appliance is unlinked and restarts.");
    });
}

function addCode(link: Command, terminal: Terminal): void {
  link
    .command("code")
    .description("At the cloud: create a single-use code that links one appliance within 15 minutes.")
    .requiredOption("--data <dir>", "data directory of the cloud")
    .option("--endpoint <id>", "endpoint id of the only appliance that may use the code")
    .option("--domain <ids...>", "domains whose rows and accounts the appliance may change; default: all")
    .option("--json", "print one line of JSON")
    .addHelpText("after", "\nExample:\n  carillon link code --data cloud")
    .action(async ({ data, endpoint, domain: domains, json }: CodeOptions) => {
      const created = (await runCommand(data, "link.code", { endpoint, domains })) as { code: string; until: number };
      const until = new Date(created.until).toISOString();
      terminal.out(json ? JSON.stringify({ ...created, until }) : `${created.code}  until ${until}`);
    });
}

function addEnrol(link: Command, terminal: Terminal): void {
  link
    .command("enrol")
    .description("At the appliance: link it to a cloud; its daemon restarts.")
    .requiredOption("--data <dir>", "data directory of the appliance")
    .requiredOption("--hub <url>", "base URL of the cloud")
    .option("--code <code>", "code created by `link code` at the cloud; or set CARILLON_ENROLMENT_CODE")
    .option(
      "--mode <mode>",
      "adopt: the organisation has no appliances yet, the data of this one are uploaded; join: the organisation's data are used, rows that exist only on the appliance are renamed and disabled and stay on it",
      "join",
    )
    .option("--authority <file>", "CA certificate (PEM) of the cloud's certificate, unless a public CA signed it")
    .addHelpText(
      "after",
      "\nExample:\n  carillon link enrol --data data --hub https://cloud.example.org --code 7K3Q-F9XM-2TAB --mode adopt\n\n" +
        "In both modes, users with the same address are merged; the cloud's domain, theme and default profile replace the appliance's.",
    )
    .action(async ({ data, hub, mode, authority, ...given }: EnrolOptions) => {
      const code = given.code ?? terminal.env.CARILLON_ENROLMENT_CODE ?? "";
      if (code === "") throw new CallerError("required", "Give --code, or CARILLON_ENROLMENT_CODE in the environment.");
      const pem = authority === undefined ? {} : { authority: readFileSync(authority, "utf8") };
      const { endpoint } = (await runCommand(data, "link.enrol", { hub, code, mode, ...pem })) as { endpoint: string };
      terminal.out(`The appliance ${endpoint} is linked to ${hub} and restarts.`);
    });
}

function addStatus(link: Command, terminal: Terminal): void {
  link
    .command("status")
    .description("Show the state of the link; at the cloud, list the linked appliances.")
    .requiredOption("--data <dir>", "data directory of the appliance or the cloud")
    .option("--json", "print one line of JSON")
    .addHelpText("after", "\nExample:\n  carillon link status --data data")
    .action(async ({ data, json }: { data: string; json?: true }) => {
      const found = (await runCommand(data, "link.status", {})) as
        | ApplianceLinkStatus
        | { connected: string[]; appliances: ApplianceStatus[] };
      if (json) return terminal.out(JSON.stringify(found));
      const lines = "connected" in found ? found.appliances.flatMap(formatAppliance) : await formatStatus(found);
      for (const line of lines) terminal.out(line);
    });
}

function addInitialSync(link: Command, terminal: Terminal): void {
  link
    .command("first-sync")
    .description(
      "At an appliance whose first sync did not complete because rows differ from the cloud: decide about these rows, which `link status` lists.",
    )
    .requiredOption("--data <dir>", "data directory of the appliance")
    .addOption(
      new Option("--action <action>", "retry: send the rows again; accept: finish, the rows stay as they are")
        .choices(["retry", "accept"])
        .makeOptionMandatory(),
    )
    .addHelpText("after", "\nExample:\n  carillon link first-sync --data data --action retry")
    .action(async ({ data, action }: { data: string; action: string }) => {
      const { rows } = (await runCommand(data, "link.initial-sync", { action })) as { rows: number };
      terminal.out(action === "retry" ? `Sent ${counted(rows, "row")} again.` : "The first sync is finished.");
    });
}

function addSecrets(link: Command, terminal: Terminal): void {
  link
    .command("secrets")
    .description(
      "At the appliance: fetch the secrets of call managers that the cloud hands to it now, and list those that are still missing.",
    )
    .requiredOption("--data <dir>", "data directory of the appliance")
    .addHelpText("after", "\nExample:\n  carillon link secrets --data data")
    .action(async ({ data }: { data: string }) => {
      const { secretTasks } = (await runCommand(data, "link.secrets", {})) as Pick<ApplianceLinkStatus, "secretTasks">;
      const { secretTaskText } = await import("../cloud-link/secret-tasks.ts");
      for (const task of secretTasks) terminal.out(secretTaskText(task));
      if (secretTasks.length === 0) terminal.err("No secret is missing.");
    });
}

/** An appliance as the cloud knows it; counts of what is not zero. */
function formatAppliance(appliance: ApplianceStatus): string[] {
  const { endpointId, name, link, since, unsentRows, unsentSince, rowsBehind, waitingRows, waits } = appliance;
  const from = (at: number | null): string => (at === null ? "" : ` since ${new Date(at).toISOString()}`);
  const counts = [
    ...(unsentRows ? [`${counted(unsentRows, "row")} to send${from(unsentSince)}`] : []),
    ...(rowsBehind ? [`${counted(rowsBehind, "row")} of the cloud to come`] : []),
    ...(waitingRows ? [`${counted(waitingRows, "row waits", "rows wait")} here`] : []),
  ];
  return [
    `${link.padEnd(8)}${name ?? "(no name)"}  ${endpointId}${from(since)}${counts.length > 0 ? `: ${counts.join(", ")}` : ""}`,
    ...waits.map(({ type, id, reason }) => `  waits: ${type} ${id}: ${reason}`),
  ];
}

type ApplianceLinkStatus = LinkReport & { secretTasks: NamedSecretTask[]; exchangeKey: string | null };

async function formatStatus(status: ApplianceLinkStatus): Promise<string[]> {
  const { secretTaskText } = await import("../cloud-link/secret-tasks.ts");
  const { hub, link, applied, queued, parked, certificateUntil, initialSync, secretTasks, exchangeKey } = status;
  if (hub === null) return ["The appliance is not linked."];
  const since = link ? ` since ${new Date(link.since).toISOString()}` : "";
  return [
    `cloud        ${hub}`,
    `link         ${link?.state ?? "not started"}${since}${link?.reason ? `: ${link.reason}` : ""}`,
    `applied      ${applied ?? 0}`,
    `queued       ${queued}`,
    `rejected     ${parked}`,
    `certificate  until ${certificateUntil === null ? "-" : new Date(certificateUntil).toISOString()}`,
    ...(exchangeKey === null ? [] : [`secret key   ${exchangeKey}`]),
    ...(initialSync ? formatInitialSync(initialSync) : []),
    ...secretTasks.map((task) => `secret       ${secretTaskText(task)}`),
  ];
}

/** Counts of each type before and after, and the rows that differ. */
function formatInitialSync(report: InitialSyncReport): string[] {
  const { mode, state, waitsFor, checkedAt, types, differences, more } = report;
  const checked = checkedAt === null ? "" : `, compared ${new Date(checkedAt).toISOString()}`;
  const waits = waitsFor === null ? "" : `, waits for ${waitsFor}`;
  const counts = types.flatMap(({ type, before, cloudBefore, here, cloud, isEqual }) => {
    if (isEqual && state === "complete" && before.count === 0) return [];
    const was = `before ${before.count} here, ${cloudBefore?.count ?? "?"} in the cloud`;
    const is = `now ${here?.count ?? "?"} here, ${cloud?.count ?? "?"} in the cloud`;
    return [`  ${type}: ${was}; ${is}${here && !isEqual ? "; not equal" : ""}`];
  });
  const rows = differences.map(({ type, id, name, kind, fields, reason }) => {
    const what = [kind, ...(fields.length > 0 ? [`(${fields.join(", ")})`] : [])].join(" ");
    return `  differs: ${type} ${name === null ? id : `"${name}" ${id}`}: ${what}${reason === null ? "" : `: ${reason}`}`;
  });
  return [
    `first sync   ${mode}: ${state}${checked}${waits}`,
    ...counts,
    ...rows,
    ...(more > 0 ? [`  and ${more} more`] : []),
  ];
}

async function runCommand(dataDir: string, name: string, args: Record<string, unknown>): Promise<unknown> {
  requireDatabase(dataDir);
  const response = await sendControlCommand(dataDir, { order: name, args });
  if (response) return response.result;
  throw new UpstreamError("starting", `No daemon runs on ${dataDir}. Start it: carillon serve --data ${dataDir}`, {
    dataDir,
  });
}
