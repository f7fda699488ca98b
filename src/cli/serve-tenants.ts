import { resolve } from "node:path";
import { systemClock } from "../lib/clock.ts";
import { EXIT } from "../lib/exit-codes.ts";
import { limitHeapGrowth } from "../lib/heap-growth.ts";
import { createLog, stderrStream } from "../lib/log.ts";
import type { Terminal } from "../lib/terminal.ts";
import { formatLogLine } from "../ops/logs/log-reader.ts";
import type { Settings } from "../settings/schema.ts";

/** Options of `carillon hub --all-organisations`. */
export interface ServeTenantsOptions {
  dataDir: string;
  url: string;
  settings: Settings;
  config: string | undefined;
}

/** Serves all tenants of a database until a signal ends it; returns the exit code. */
export async function serveAllTenants(given: ServeTenantsOptions, terminal: Terminal): Promise<number> {
  limitHeapGrowth();
  const { url, settings, config } = given;
  const stderr = stderrStream();
  const write = (line: string): void =>
    void stderr.write(terminal.errIsTerminal ? `${formatLogLine(line.trimEnd())}\n` : line);
  const log = createLog({ level: settings.log.level, stream: { write } });
  const stopped = new Promise<void>((done) => void terminal.onStop(() => done()));
  const { startGateway } = await import("../gateway/gateway.ts");
  const gateway = await startGateway({
    ...{ dataDir: resolve(given.dataDir), url, listen: settings.listen, settings, clock: systemClock, log },
    config: config === undefined ? undefined : resolve(config),
    env: terminal.env,
    onLogLine: (line) => write(`${line}\n`),
  });
  terminal.out(JSON.stringify({ event: "ready", url: gateway.url, pid: process.pid, urls: {} }));
  await stopped;
  await gateway.stop();
  return EXIT.ok;
}
