import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { CallerError, UpstreamError } from "../lib/errors.ts";
import type { Terminal } from "../lib/terminal.ts";
import type { LicenceState } from "../ops/licence.ts";
import { sendControlCommand } from "../wiring/control-socket.ts";

interface LicenceOptions {
  data: string;
  json?: true;
}

/** `carillon licence show | install | remove`; needs the running daemon. */
export function addLicence(program: Command, terminal: Terminal): void {
  const licence = program
    .command("licence")
    .description(
      "Show or change the licence. Without one everything is unlimited. Emergency messages are never limited; other messages skip unlicensed devices.",
    )
    .addHelpText("after", "\nExample:\n  carillon licence show --data /var/lib/carillon");
  const add = (name: string, description: string, example: string): Command =>
    licence
      .command(name)
      .description(description)
      .requiredOption("--data <dir>", "data directory of the appliance; its daemon must run")
      .option("--json", "print one line of JSON")
      .addHelpText("after", `\nExample:\n  carillon licence ${example} --data /var/lib/carillon`);
  add("show", "Show the licence, its limits and the current use.", "show").action(
    async ({ data, json }: LicenceOptions) => printState(terminal, await runCommand(data, "licence.show", {}), json),
  );
  add(
    "install",
    "Install a signed licence; the issuer's key must be listed in trust.licences of the settings.",
    "install acme.licence",
  )
    .argument("<file>", "signed licence (JSON)")
    .action(async (file: string, { data, json }: LicenceOptions) =>
      printState(terminal, await runCommand(data, "licence.install", { document: read(file) }), json),
    );
  add("remove", "Remove the licence; everything is unlimited again.", "remove").action(
    async ({ data, json }: LicenceOptions) => printState(terminal, await runCommand(data, "licence.remove", {}), json),
  );
}

async function runCommand(dataDir: string, name: string, args: Record<string, unknown>): Promise<LicenceState> {
  const response = await sendControlCommand(dataDir, { order: name, args });
  if (response) return response.result as LicenceState;
  throw new UpstreamError("starting", `No daemon runs on ${dataDir}; start it first.`, { dataDir });
}

function printState(terminal: Terminal, state: LicenceState, json: true | undefined): void {
  if (json) {
    terminal.out(JSON.stringify(state));
    return;
  }
  const { licence, counts, violations } = state;
  const until = licence?.expiresAt ? `until ${licence.expiresAt.slice(0, 10)}` : "no expiry date";
  terminal.out(licence ? `${licence.id} of ${licence.holder}, ${until}` : "Community: everything is unlimited.");
  for (const { kind, used, limit } of counts)
    terminal.out(`${kind.padEnd(9)} ${used}${limit === null ? "" : ` of ${limit}`}`);
  for (const { reason } of violations) terminal.err(reason);
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    throw new CallerError("invalid-value", `Can't read ${path}.`);
  }
}
