import { readFileSync } from "node:fs";
import type { Command } from "commander";
import type { LinkReport } from "../cloud-link/site-link.ts";
import { CallerError, UpstreamError } from "../lib/errors.ts";
import { requireDatabase } from "../wiring/appliance-data.ts";
import { sendControlCommand } from "../wiring/control-socket.ts";
import type { Terminal } from "./terminal.ts";

interface EnrolOptions {
  data: string;
  hub: string;
  code?: string;
  mode: string;
  authority?: string;
}

/** `carillon link code | enrol | status | revoke | leave`: the link between an appliance and the cloud; their daemons run. */
export function addLink(program: Command, terminal: Terminal): void {
  const link = program
    .command("link")
    .description("Link an appliance to the cloud of its organisation; works while the daemon runs.")
    .addHelpText(
      "after",
      "\nExample:\n  carillon link code --data cloud\n" +
        "  carillon link enrol --data data --hub https://cloud.example.org --code 7K3Q-F9XM-2TAB --mode adopt\n" +
        "  carillon link status --data data",
    );
  addCode(link, terminal);
  addEnrol(link, terminal);
  addStatus(link, terminal);
  link
    .command("revoke")
    .description("At the cloud: take an appliance's key away. Its link ends; it must be enrolled anew.")
    .requiredOption("--data <dir>", "the cloud's data")
    .requiredOption("--endpoint <id>", "the appliance")
    .addHelpText("after", "\nExample:\n  carillon link revoke --data cloud --endpoint 0199…")
    .action(async ({ data, endpoint }: { data: string; endpoint: string }) => {
      await runCommand(data, "link.revoke", { endpoint });
      terminal.out(`The appliance ${endpoint} is not trusted any more.`);
    });
  link
    .command("leave")
    .description("Make the appliance stand alone again; its rows stay as they are. The daemon starts anew.")
    .requiredOption("--data <dir>", "the appliance's data")
    .addHelpText("after", "\nExample:\n  carillon link leave --data data")
    .action(async ({ data }: { data: string }) => {
      await runCommand(data, "link.leave", {});
      terminal.out("The appliance stands alone.");
    });
}

function addCode(link: Command, terminal: Terminal): void {
  link
    .command("code")
    .description("At the cloud: make a code by which one appliance may be linked, once and within 15 minutes.")
    .requiredOption("--data <dir>", "the cloud's data")
    .option("--endpoint <id>", "the only appliance that may use it")
    .option("--json", "print one line of JSON")
    .addHelpText("after", "\nExample:\n  carillon link code --data cloud")
    .action(async ({ data, endpoint, json }: { data: string; endpoint?: string; json?: true }) => {
      const made = (await runCommand(data, "link.code", { endpoint })) as { code: string; until: number };
      const until = new Date(made.until).toISOString();
      terminal.out(json ? JSON.stringify({ ...made, until }) : `${made.code}  until ${until}`);
    });
}

function addEnrol(link: Command, terminal: Terminal): void {
  link
    .command("enrol")
    .description("Link the appliance to a cloud; its daemon starts anew.")
    .requiredOption("--data <dir>", "the appliance's data")
    .requiredOption("--hub <url>", "base URL of the cloud")
    .option("--code <code>", "code that the cloud made; or give CARILLON_ENROLMENT_CODE in the environment")
    .option(
      "--mode <mode>",
      "adopt: the appliance's rows become the organisation's; join: it keeps them to itself",
      "join",
    )
    .option("--authority <file>", "certificate (PEM) of the authority that signed the cloud's, if no public one did")
    .addHelpText(
      "after",
      "\nExample:\n  carillon link enrol --data data --hub https://cloud.example.org --code 7K3Q-F9XM-2TAB --mode adopt\n\n" +
        "Whatever the mode, people with the same address become one, and of domain, look and default profile the cloud's are used.",
    )
    .action(async ({ data, hub, mode, authority, ...given }: EnrolOptions) => {
      const code = given.code ?? terminal.env.CARILLON_ENROLMENT_CODE ?? "";
      if (code === "") throw new CallerError("required", "Give --code, or CARILLON_ENROLMENT_CODE in the environment.");
      const pem = authority === undefined ? {} : { authority: readFileSync(authority, "utf8") };
      const { endpoint } = (await runCommand(data, "link.enrol", { hub, code, mode, ...pem })) as { endpoint: string };
      terminal.out(`The appliance ${endpoint} is linked to ${hub}.`);
    });
}

function addStatus(link: Command, terminal: Terminal): void {
  link
    .command("status")
    .description("Say how the link is; at the cloud, which appliances are linked.")
    .requiredOption("--data <dir>", "the appliance's or the cloud's data")
    .option("--json", "print one line of JSON")
    .addHelpText("after", "\nExample:\n  carillon link status --data data")
    .action(async ({ data, json }: { data: string; json?: true }) => {
      const found = (await runCommand(data, "link.status", {})) as LinkReport | { connected: string[] };
      if (json) return terminal.out(JSON.stringify(found));
      const lines = "connected" in found ? found.connected.map((id) => `linked  ${id}`) : formatStatus(found);
      for (const line of lines) terminal.out(line);
    });
}

function formatStatus({ hub, link, applied, queued, parked, certificateUntil }: LinkReport): string[] {
  if (hub === null) return ["The appliance stands alone."];
  const since = link ? ` since ${new Date(link.since).toISOString()}` : "";
  return [
    `cloud        ${hub}`,
    `link         ${link?.state ?? "not begun"}${since}${link?.reason ? `: ${link.reason}` : ""}`,
    `applied      ${applied ?? 0}`,
    `to be sent   ${queued}`,
    `refused      ${parked}`,
    `certificate  until ${certificateUntil === null ? "-" : new Date(certificateUntil).toISOString()}`,
  ];
}

async function runCommand(dataDir: string, name: string, args: Record<string, unknown>): Promise<unknown> {
  requireDatabase(dataDir);
  const answered = await sendControlCommand(dataDir, { order: name, args });
  if (answered) return answered.result;
  throw new UpstreamError("starting", `No daemon runs on ${dataDir}. Start it: carillon serve --data ${dataDir}`, {
    dataDir,
  });
}
