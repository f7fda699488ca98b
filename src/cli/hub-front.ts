import { resolve } from "node:path";
import { systemClock } from "../base/clock.ts";
import { CallerError } from "../base/errors.ts";
import { createLog, stderrLog } from "../base/log.ts";
import { readable } from "../operations/log-lines.ts";
import type { Settings } from "../settings/schema.ts";
import { EXIT } from "./exit-codes.ts";
import type { Terminal } from "./terminal.ts";

/** What `carillon hub --all-organisations` is told. */
export interface AllOrganisations {
  dataDir: string;
  url: string;
  settings: Settings;
  config: string | undefined;
}

/** Serves all organisations of a database until a signal ends it; gives the exit code. */
export async function serveAllOrganisations(given: AllOrganisations, terminal: Terminal): Promise<number> {
  const { url, settings, config } = given;
  const stderr = stderrLog();
  const write = (line: string): void =>
    void stderr.write(terminal.errIsTerminal ? `${readable(line.trimEnd())}\n` : line);
  const log = createLog({ level: settings.log.level, stream: { write } });
  const stopped = new Promise<void>((done) => void terminal.onStop(() => done()));
  const { startFront } = await import("../app/front/front.ts");
  const front = await startFront({
    ...{ dataDir: resolve(given.dataDir), url, listen: settings.listen, settings, clock: systemClock, log },
    config: config === undefined ? undefined : resolve(config),
    env: terminal.env,
    onLine: (line) => write(`${line}\n`),
  });
  terminal.out(JSON.stringify({ event: "ready", url: front.url, pid: process.pid, urls: {} }));
  await stopped;
  await front.stop();
  return EXIT.ok;
}

/** Throws CallerError for what is about one organisation. */
export function requireNoOne(options: { organisation?: string; restored?: true }): void {
  if (options.organisation === undefined && !options.restored) return;
  throw new CallerError(
    "invalid-value",
    "--organisation and --restored are about one organisation; --all-organisations serves all that have a host name.",
  );
}
