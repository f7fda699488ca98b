import { readFileSync, statSync, writeFileSync } from "node:fs";
import type { Command } from "commander";
import type { ZoneChangeReport } from "../bells/zone-changes.ts";
import { systemClock } from "../lib/clock.ts";
import { EXIT } from "../lib/exit-codes.ts";
import { runAsOwner } from "../lib/file-ownership.ts";
import type { Terminal } from "../lib/terminal.ts";
import { sendControlCommand } from "../wiring/control-socket.ts";
import { requireDatabase } from "../wiring/require-database.ts";
import { counted } from "./counted.ts";
import { readSettings } from "./settings.ts";

interface TzOptions {
  data: string;
  config?: string;
  sha256?: string;
  json?: true;
}

/** `carillon tz status | install | pack`. */
export function addTz(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  const tz = program
    .command("tz")
    .description("Show or update the time zone database that bells follow.")
    .addHelpText("after", "\nExample:\n  carillon tz status --data /var/lib/carillon");
  tz.command("status")
    .description("Show the sources of time zone data, the one in use, and the rings that the last changes moved.")
    .requiredOption("--data <dir>", "data directory of the appliance")
    .option("--config <file>", "settings file (YAML)")
    .option("--json", "print one line of JSON")
    .addHelpText("after", "\nExample:\n  carillon tz status --data /var/lib/carillon")
    .action(async ({ data, config, json }: TzOptions) => {
      const { describeReport } = await import("../bells/zone-changes.ts");
      const { compareSources } = await import("../time-zones/disagreements.ts");
      const { installedZonesFolder, openZoneData } = await import("../time-zones/zone-data.ts");
      const settings = await readSettings(terminal, config);
      if (typeof settings === "number") return finish(settings);
      const zones = openZoneData({ folder: settings.timeZones.folder, installedFolder: installedZonesFolder(data) });
      const sources = await compareSources(zones, systemClock);
      const response = await sendControlCommand(data, { order: "time-zones.changes", args: {} });
      const changes = (response?.result ?? []) as ZoneChangeReport[];
      if (json) terminal.out(JSON.stringify({ sources, problems: zones.problems(), changes }));
      else {
        for (const { kind, version, isInUse, differs, lacks } of sources) {
          const compared = isInUse ? "in use" : `other rules for ${counted(differs.length, "zone")}`;
          terminal.out(
            `${kind.padEnd(10)} ${(version ?? "unknown").padEnd(8)} ${compared}, without ${counted(lacks.length, "zone")}`,
          );
          if (differs.length > 0) terminal.out(`           ${differs.join(" ")}`);
        }
        for (const text of zones.problems()) terminal.err(text);
        for (const report of changes) terminal.out(`${report.at}  ${describeReport(report)}`);
      }
      finish(EXIT.ok);
    });
  tz.command("install")
    .description("Install a time zone database; the daemon replans the bells that it moves within a minute.")
    .argument(
      "<file>",
      "signed document made by carillon tz pack, or a .tar.gz of compiled zones or of the database's sources",
    )
    .requiredOption("--data <dir>", "data directory of the appliance")
    .option(
      "--sha256 <hex>",
      "SHA-256 of the file, for a file that is not signed by a key in trust.upgrades of the settings",
    )
    .option("--config <file>", "settings file (YAML)")
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      "\nExample:\n  carillon tz install tzdata2026d.tar.gz --sha256 $(cut -d' ' -f1 tzdata2026d.tar.gz.sha256) --data /var/lib/carillon",
    )
    .action(async (file: string, { data, config, sha256, json }: TzOptions) => {
      const { describeSource, installedZonesFolder, openZoneData } = await import("../time-zones/zone-data.ts");
      const { installZones, readZoneFile } = await import("../time-zones/zone-install.ts");
      const settings = await readSettings(terminal, config);
      if (typeof settings === "number") return finish(settings);
      requireDatabase(data);
      const document = await readZoneFile(file, { sha256: sha256 ?? null, keys: settings.trust.upgrades });
      const folder = installedZonesFolder(data);
      runAsOwner(data, () => installZones(folder, document, systemClock.now()));
      const inUse = describeSource(openZoneData({ folder: settings.timeZones.folder, installedFolder: folder }));
      const { version } = document;
      if (json) terminal.out(JSON.stringify({ installed: version, inUse }));
      else terminal.out(`${version} is installed; in use: ${inUse}.`);
      finish(EXIT.ok);
    });
  tz.command("pack")
    .description("Sign a time zone database for carillon tz install.")
    .argument("<source>", "folder of compiled zones such as /usr/share/zoneinfo, or a .tar.gz as for install")
    .argument("<target>", "file to write")
    .requiredOption("--key <file>", "private key (PEM) made by carillon upgrade-key")
    .option("--sha256 <hex>", "SHA-256 of a .tar.gz")
    .addHelpText("after", "\nExample:\n  carillon tz pack /usr/share/zoneinfo zones.json --key upgrade-key.pem")
    .action(async (source: string, target: string, { key, sha256 }: { key: string; sha256?: string }) => {
      const { sign } = await import("node:crypto");
      const { signedPayload } = await import("../lib/signed-document.ts");
      const { parseSigningKey } = await import("../ops/upgrade/upgrade-bundle.ts");
      const { readZoneFile, readZoneFolder } = await import("../time-zones/zone-install.ts");
      const isFolder = statSync(source, { throwIfNoEntry: false })?.isDirectory() === true;
      const document = isFolder
        ? readZoneFolder(source)
        : await readZoneFile(source, { sha256: sha256 ?? null, keys: [] });
      const payload = signedPayload("time-zones", document);
      const signature = sign(null, payload, parseSigningKey(readFileSync(key, "utf8"))).toString("base64");
      writeFileSync(target, JSON.stringify({ payload: payload.toString("base64"), signature }));
      terminal.out(`${document.version}: ${counted(Object.keys(document.zones).length, "zone")} in ${target}`);
      finish(EXIT.ok);
    });
}
