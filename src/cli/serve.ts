import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import { startDaemon } from "../app/daemon.ts";
import { prepareFirstRun, readSetupCode } from "../app/first-run.ts";
import { systemClock } from "../base/clock.ts";
import { createLog, stderrLog } from "../base/log.ts";
import { type LogFiles, openLogFiles } from "../operations/log-files.ts";
import type { SettingsFile } from "../operations/settings-report.ts";
import type { Settings } from "../settings/schema.ts";
import { EXIT } from "./exit-codes.ts";
import { readSettings } from "./settings.ts";
import type { Terminal } from "./terminal.ts";

interface ServeOptions {
  data: string;
  listen?: string;
  config?: string;
}

type Why = "signal" | "disk" | "restart";

const EXIT_OF = { signal: EXIT.ok, disk: EXIT.disk, restart: EXIT.restart } as const;

/** `carillon serve`: the daemon, until SIGTERM, SIGINT or a fault of the disk ends it. */
export function addServe(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  program
    .command("serve")
    .description("Run the appliance until SIGTERM or Ctrl-C.")
    .requiredOption("--data <dir>", "the appliance's data, made by init; an empty folder is set up in the browser")
    .option("--listen <host:port>", "address of the API; port 0 takes a free one (the settings' `listen` unless given)")
    .option("--config <file>", "settings file (YAML)")
    .addHelpText(
      "after",
      "\nExample:\n  carillon serve --data data --listen 127.0.0.1:8080 --config carillon.yaml\n\n" +
        'The one line on stdout, {"event":"ready","url":…,"pid":…,"urls":{…}}, comes once messages can be sent; `urls`\n' +
        "holds the plugins' own addresses. The API is at <url>/api/v1. The log, JSON lines, goes to stderr;\n" +
        "what keeps the appliance from starting is told there in words.\n" +
        "In an empty or missing folder a new appliance is made: whoever opens <url> and gives the code that lies in\n" +
        "<dir>/setup-code, and is shown on a terminal, becomes its administrator.",
    )
    .action(async (options: ServeOptions) => finish(await serveAgain(options, terminal, false)));
}

/** `carillon hub`: the same daemon as the cloud of an organisation. */
export function addHub(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  program
    .command("hub")
    .description("Run the cloud of an organisation, to which its appliances are linked, until SIGTERM or Ctrl-C.")
    .requiredOption("--data <dir>", "the cloud's data, made by init; an empty folder is set up in the browser")
    .option("--listen <host:port>", "address of the API; port 0 takes a free one (the settings' `listen` unless given)")
    .option("--config <file>", "settings file (YAML)")
    .addHelpText(
      "after",
      "\nExample:\n  carillon init --data cloud --admin-email admin@example.org\n" +
        "  carillon hub --data cloud --listen 127.0.0.1:8090\n  carillon link code --data cloud\n\n" +
        "Appliances come with `carillon link enrol`. API, console and ready line are those of `carillon serve`.",
    )
    .action(async (options: ServeOptions) => finish(await serveAgain(options, terminal, true)));
}

/** Serves, and serves again whenever a restart was ordered; gives the exit code. */
async function serveAgain({ data, listen, config }: ServeOptions, terminal: Terminal, isHub: boolean): Promise<number> {
  const settings = await readSettings(terminal, config);
  if (typeof settings === "number") return settings;
  const above = (read: Settings): Settings => ({ ...read, listen: listen ?? read.listen });
  const file = config === undefined ? null : fileAt(resolve(config), above);
  let exitCode = await serve(data, above(settings), file, terminal, isHub);
  // Nobody else starts it again: systemd says by this word that it does.
  while (exitCode === EXIT.restart && terminal.env.NOTIFY_SOCKET === undefined) {
    exitCode = await serve(data, (await file?.read()) ?? above(settings), file, terminal, isHub);
  }
  return exitCode;
}

function fileAt(path: string, above: (read: Settings) => Settings): SettingsFile {
  return {
    path,
    async read() {
      const { loadSettings } = await import("../settings/load.ts");
      return above(loadSettings(path));
    },
  };
}

/** Runs the daemon and gives the exit code. A signal during the start ends it at once: what is committed is safe. */
async function serve(
  dataDir: string,
  settings: Settings,
  settingsFile: SettingsFile | null,
  terminal: Terminal,
  isHub: boolean,
): Promise<number> {
  const lines = toStderrAnd(() => files);
  let files: LogFiles | null = null;
  const log = createLog({ level: settings.log.level, stream: lines });
  let end: (why: Why) => void = () => undefined;
  const ending = new Promise<Why>((resolve) => {
    end = resolve;
  });
  const endListening = terminal.onStop((signal) => {
    log.info({ signal }, "stopping");
    end("signal");
  });
  const onFatal = (error: unknown): void => {
    log.fatal({ err: error }, "the disk failed while writing; ending at once, a restart is safe");
    end("disk");
  };
  try {
    await prepareFirstRun(dataDir, systemClock);
    // What is no appliance, or a folder by mistake, gets no files.
    if (existsSync(join(dataDir, "carillon.db"))) files = openLogFiles(dataDir);
    const daemon = await Promise.race([
      ending,
      startDaemon({
        ...{ dataDir, listen: settings.listen, settings, log, isHub, onFatal },
        onRestart: () => end("restart"),
        ...(settingsFile && { settingsFile }),
      }),
    ]);
    if (typeof daemon === "string") return EXIT_OF[daemon];
    const { url, urls } = daemon;
    terminal.out(JSON.stringify({ event: "ready", url, pid: process.pid, urls }));
    tellSetupCode(terminal, dataDir, url);
    const why = await ending;
    if (why !== "disk") await daemon.stop();
    return EXIT_OF[why];
  } finally {
    endListening();
    files?.close();
  }
}

/** Lines go to stderr, for the journal or a terminal, and to the files that `carillon logs` reads. */
function toStderrAnd(files: () => LogFiles | null): { write(line: string): void } {
  const stderr = stderrLog();
  return {
    write(line) {
      stderr.write(line);
      files()?.write(line);
    },
  };
}

/** The code goes to people alone: what is no terminal may be kept as a log. */
export function tellSetupCode(terminal: Pick<Terminal, "err" | "errIsTerminal">, dataDir: string, url: string): void {
  const code = terminal.errIsTerminal ? readSetupCode(dataDir) : null;
  if (code !== null) terminal.err(`\nThis appliance is new. Open ${url} and set it up with the code ${code}\n`);
}
