import { resolve } from "node:path";
import type { Command } from "commander";
import { systemClock } from "../lib/clock.ts";
import { invalidValue } from "../lib/errors.ts";
import { productVersion } from "../lib/product-version.ts";
import type { Terminal } from "../lib/terminal.ts";
import { followLog, formatLogLine, LOG_LEVELS, type LogFilter, tailLogFiles } from "../ops/logs/log-reader.ts";
import { requireDatabase } from "../wiring/require-database.ts";
import { daemonStateOf } from "./doctor.ts";
import { readSettings } from "./settings.ts";

interface LogOptions {
  data: string;
  lines: string;
  level?: string;
  text?: string;
  since?: string;
  follow?: true;
  json?: true;
}

/** `carillon logs` and `carillon logs collect`. */
export function addLogs(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  const logs = program
    .command("logs")
    .description("Show the log of the appliance; secrets are masked.")
    .option("--data <dir>", "data directory of the appliance", "data")
    .option("--lines <number>", "number of newest matching lines", "100")
    .option("--level <level>", `minimum level: ${LOG_LEVELS.join(", ")}`)
    .option("--text <text>", "only lines that contain this text")
    .option("--since <time>", "time in ISO 8601, or an age such as 30m, 2h, 3d")
    .option("--follow", "print new lines until Ctrl-C")
    .option("--json", "print the original JSON lines")
    .addHelpText("after", "\nExample:\n  carillon logs --data /var/lib/carillon --level warn --since 2h --follow")
    .action(async ({ data, lines, follow, json, ...conditions }: LogOptions) => {
      requireDatabase(data);
      const filter = filterOf(conditions);
      const show = (line: string): void => terminal.out(json ? line : formatLogLine(line));
      if (!/^\d{1,6}$/.test(lines)) throw invalidValue("lines", "Must be an integer between 0 and 999999.");
      for (const line of await tailLogFiles(data, Number(lines), filter)) show(line);
      if (!follow) return;
      const following = followLog(data, systemClock, filter, show);
      await new Promise<void>((done) => {
        const alive = systemClock.after(2 ** 31 - 1, () => undefined);
        const off = terminal.onStop(() => {
          off();
          alive.cancel();
          done();
        });
      });
      following.cancel();
    });
  logs
    .command("collect")
    .description("Collect log, health and settings in one file for support; secrets are masked.")
    .option("--data <dir>", "data directory of the appliance", "data")
    .option("--config <file>", "settings file (YAML)")
    .option("--to <file>", "file to create (.tar.gz); default: a file in the current folder")
    .addHelpText("after", "\nExample:\n  carillon logs collect --data /var/lib/carillon --to /tmp/for-support.tar.gz")
    .action(async (_own: object, command: Command) => {
      const { runDiagnostics } = await import("../ops/diagnostics.ts");
      const { collectLogs, logBundleName } = await import("../ops/logs/log-bundle.ts");
      const { data, config, to } = command.optsWithGlobals<{ data: string; config?: string; to?: string }>();
      requireDatabase(data);
      const settings = await readSettings(terminal, config);
      if (typeof settings === "number") return finish(settings);
      const [version, daemonState] = [productVersion(), await daemonStateOf(data)];
      const doctor = await runDiagnostics({ dataDir: data, settings, daemonState, version, clock: systemClock });
      const target = resolve(to ?? logBundleName(systemClock.now()));
      await collectLogs(data, target, {
        doctor,
        settings,
        daemon: daemonState,
        machine: { version, node: process.version },
      });
      terminal.out(target);
    });
}

function filterOf({ level, text, since }: Pick<LogOptions, "level" | "text" | "since">): LogFilter {
  if (level !== undefined && !LOG_LEVELS.includes(level))
    throw invalidValue("level", `Must be one of ${LOG_LEVELS.join(", ")}.`);
  const filter: LogFilter = {};
  if (level !== undefined) filter.level = level;
  if (text !== undefined) filter.text = text;
  if (since !== undefined) filter.since = timestampOf(since);
  return filter;
}

const UNIT_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

function timestampOf(since: string): number {
  const age = /^(\d{1,5})([mhd])$/.exec(since);
  if (age) return systemClock.now() - Number(age[1]) * UNIT_MS[age[2] as keyof typeof UNIT_MS];
  const at = Date.parse(since);
  if (Number.isNaN(at)) throw invalidValue("since", "Must be a time in ISO 8601, or an age such as 30m, 2h, 3d.");
  return at;
}
