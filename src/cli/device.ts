import { type Command, InvalidArgumentError } from "commander";
import { type ApiClient, listAll } from "../api-client/api-client.ts";
import { type DeviceRegistration, registerDevices } from "../api-client/register-devices.ts";
import { EXIT } from "../lib/exit-codes.ts";
import { isMulticastAddress } from "../lib/network-route.ts";
import type { Terminal } from "../lib/terminal.ts";
import { formatTable } from "../lib/text-table.ts";
import { parseListenAddress } from "../settings/network-addresses.ts";
import { type ApplianceOptions, addApplianceOptions, apiClientFrom } from "./appliance-options.ts";
import { printCommandError } from "./terminal.ts";

interface PhoneOptions extends ApplianceOptions {
  address: string;
  port?: number;
  name?: string;
}

interface ZoneOptions extends ApplianceOptions {
  group: { host: string; port: number };
  name?: string;
}

interface PhoneConfigurationCheck {
  configuration: object | null;
  problems: { severity: keyof typeof SEVERITY_MARKS; words: string }[];
}

const SEVERITY_MARKS = { refuses: "REFUSES", "may-refuse": "may", unknown: "unknown" } as const;

/** Port of a paging zone unless given; the console offers the same one. */
const DEFAULT_ZONE_PORT = 20_480;

/** `carillon device phone | zone | configuration | list`: registers devices, which can then be called, and checks phones. */
export function addDevice(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  const device = program
    .command("device")
    .description("Register phones and paging zones; list all devices; check phones.")
    .addHelpText(
      "after",
      "\nExample:\n  carillon device zone hall --group 239.1.2.3 --name Hall\n  carillon device list",
    );
  const add = (name: string, description: string, example: string): Command =>
    addApplianceOptions(device.command(name), terminal)
      .description(description)
      .option("--name <name>", "display name")
      .addHelpText(
        "after",
        `\nExample:\n  carillon device ${example}\n\nA device that is already registered is updated.`,
      );
  add("phone <identifier>", "Register an IP phone.", 'phone SEP001122334455 --address 10.1.2.14 --name "Room 214"')
    .requiredOption("--address <address>", "IP address of the phone")
    .option("--port <port>", "port of the phone's web server (default: 80)", portOf)
    .action((deviceIdentifier: string, { address, port, name, ...options }: PhoneOptions) =>
      register(terminal, options, {
        ...{ type: "phones", deviceIdentifier, description: name ?? deviceIdentifier },
        attributes: { IPAddress: address, ...(port !== undefined && { HttpPort: String(port) }) },
      }),
    );
  add("zone <identifier>", "Register a multicast paging zone.", "zone hall --group 239.1.2.3 --name Hall")
    .requiredOption(
      "--group <address>",
      `multicast ADDRESS of its speakers, or ADDRESS:PORT (default port: ${DEFAULT_ZONE_PORT})`,
      groupOf,
    )
    .action((identifier: string, { group, name, ...options }: ZoneOptions) =>
      register(terminal, options, {
        ...{ type: "speakers", deviceIdentifier: `zone:${identifier}`, description: name ?? identifier },
        attributes: { Group: group.host, Port: String(group.port) },
      }),
    );
  addApplianceOptions(device.command("configuration <identifier>"), terminal)
    .description("Read a phone's configuration from the TFTP server of its call manager; say whether it takes pushes.")
    .addHelpText("after", "\nExample:\n  carillon device configuration SEP001122334455")
    .action(async (identifier: string, options: ApplianceOptions) => {
      const takesPushes = await checkConfiguration(apiClientFrom(options, terminal), identifier, terminal);
      finish(takesPushes ? EXIT.ok : EXIT.failure);
    });
  addApplianceOptions(device.command("list"), terminal)
    .description("List all devices: identifier, name, last result.")
    .addHelpText("after", "\nExample:\n  carillon device list")
    .action((options: ApplianceOptions) => list(apiClientFrom(options, terminal), terminal));
}

/** `carillon device configuration`: prints what a phone's configuration says; false if the phone refuses pushes. */
async function checkConfiguration(api: ApiClient, identifier: string, terminal: Terminal): Promise<boolean> {
  const query = new URLSearchParams({ deviceIdentifier: identifier });
  const [device] = await listAll<{ id: string }>(api, `/devices?${query}`);
  if (!device) {
    printCommandError(terminal, {
      exitCode: EXIT.failure,
      message: `Device ${identifier} not found.`,
      next: "List all devices: carillon device list",
    });
    return false;
  }
  const check = await api.post<PhoneConfigurationCheck>(`/devices/${device.id}/phone-configuration`, {});
  const { configuration, problems } = check;
  for (const { severity, words } of problems) terminal.err(`${SEVERITY_MARKS[severity].padEnd(9)} ${words}`);
  if (configuration && problems.length === 0) terminal.err("ok        The phone takes pushes from this appliance.");
  terminal.out(JSON.stringify(check));
  return configuration !== null && !problems.some(({ severity }) => severity === "refuses");
}

async function register(terminal: Terminal, options: ApplianceOptions, device: DeviceRegistration): Promise<void> {
  await registerDevices(apiClientFrom(options, terminal), [device]);
  terminal.out(`${device.deviceIdentifier} is registered as ${device.description}.`);
  terminal.err('  Test it: carillon send "Test" --tone chime --drill --all-devices');
}

async function list(api: ApiClient, terminal: Terminal): Promise<void> {
  const devices = await listAll<DeviceRegistration & { lastLevel: string | null }>(api, "/devices");
  const rows = devices.map(({ deviceIdentifier, description, lastLevel }) => [
    ...[deviceIdentifier, description, lastLevel ?? "no message yet"],
  ]);
  for (const line of formatTable(rows)) terminal.out(line);
  if (rows.length === 0) terminal.err("No devices yet. To register one, see: carillon device --help");
}

function portOf(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port >= 1 && port <= 65_535) return port;
  throw new InvalidArgumentError("Must be a port between 1 and 65535.");
}

function groupOf(text: string): ZoneOptions["group"] {
  const isAddress = isMulticastAddress(text);
  const group = isAddress ? { host: text, port: DEFAULT_ZONE_PORT } : parseListenAddress(text);
  if (group && group.port > 0 && isMulticastAddress(group.host)) return group;
  throw new InvalidArgumentError(
    "Must be a multicast address such as 239.1.2.3, 239.1.2.3:20480 or [ff15::1:2]:20480.",
  );
}
