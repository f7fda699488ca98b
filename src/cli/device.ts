import { type Command, InvalidArgumentError } from "commander";
import { type ApiClient, listAll } from "../api-client/api-client.ts";
import { type DeviceRegistration, registerDevices } from "../api-client/register-devices.ts";
import { isMulticastAddress } from "../lib/network-route.ts";
import type { Terminal } from "../lib/terminal.ts";
import { formatTable } from "../lib/text-table.ts";
import { parseListenAddress } from "../settings/network-addresses.ts";
import { type ApplianceOptions, addApplianceOptions, apiClientFrom } from "./appliance-options.ts";

interface PhoneOptions extends ApplianceOptions {
  address: string;
  port?: number;
  name?: string;
}

interface ZoneOptions extends ApplianceOptions {
  group: { host: string; port: number };
  name?: string;
}

/** Port of a paging zone unless given; the console offers the same one. */
const DEFAULT_ZONE_PORT = 20_480;

/** `carillon device phone | zone | list`: registers devices, which can then be called. */
export function addDevice(program: Command, terminal: Terminal): void {
  const device = program
    .command("device")
    .description("Register phones and paging zones; list all devices.")
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
  addApplianceOptions(device.command("list"), terminal)
    .description("List all devices: identifier, name, last result.")
    .addHelpText("after", "\nExample:\n  carillon device list")
    .action((options: ApplianceOptions) => list(apiClientFrom(options, terminal), terminal));
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
