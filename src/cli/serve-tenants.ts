import { resolve } from "node:path";
import { systemClock } from "../lib/clock.ts";
import { CallerError } from "../lib/errors.ts";
import { createLog, stderrStream } from "../lib/log.ts";
import { formatLogLine } from "../ops/logs/log-reader.ts";
import type { Settings } from "../settings/schema.ts";
import { EXIT } from "./exit-codes.ts";
import type { Terminal } from "./terminal.ts";

/** What `carillon hub --all-organisations` is told. */
export interface ServeTenantsOptions {
  dataDir: string;
  url: string;
  settings: Settings;
  config: string | undefined;
}

/** Serves all organisations of a database until a signal ends it; gives the exit code. */
export async function serveAllTenants(given: ServeTenantsOptions, terminal: Terminal): Promise<number> {
  const { url, settings, config } = given;
  const stderr = stderrStream();
  const write = (line: string): void =>
    void stderr.write(terminal.errIsTerminal ? `${formatLogLine(line.trimEnd())}\n` : line);
  const log = createLog({ level: settings.log.level, stream: { write } });
  const stopped = new Promise<void>((done) => void terminal.onStop(() => done()));
  const { startGateway } = await import("../gateway/gateway.ts");
  const front = await startGateway({
    ...{ dataDir: resolve(given.dataDir), url, listen: settings.listen, settings, clock: systemClock, log },
    config: config === undefined ? undefined : resolve(config),
    env: terminal.env,
    onLogLine: (line) => write(`${line}\n`),
  });
  terminal.out(JSON.stringify({ event: "ready", url: front.url, pid: process.pid, urls: {} }));
  await stopped;
  await front.stop();
  return EXIT.ok;
}

/** Throws CallerError for what is about one organisation. */
export function rejectSingleTenantOptions(options: { organisation?: string; restored?: true }): void {
  if (options.organisation === undefined && !options.restored) return;
  throw new CallerError(
    "invalid-value",
    "--organisation and --restored are about one organisation; --all-organisations serves all that have a host name.",
  );
}
