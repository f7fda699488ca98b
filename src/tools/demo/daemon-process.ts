import { spawn } from "node:child_process";
import { openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { UpstreamError } from "../../lib/errors.ts";
import { workerEntry } from "../../lib/worker-entry.ts";

/** What `serve` says once messages can be sent. */
export interface DaemonReady {
  event: "ready";
  url: string;
  pid: number;
  urls: Record<string, string>;
}

/** A daemon in a process of its own. */
export interface DaemonProcess {
  readonly ready: DaemonReady;
  /** Its exit code; 1 when a signal killed it. */
  readonly ended: Promise<number>;
  /** Asks it to end. */
  stop(): void;
}

/** Phones and zones of the campus live on the loopback interface, which an appliance keeps away from otherwise. */
const SETTINGS = `network:
  allowedTargets: [127.0.0.0/8]
  multicastInterface: 127.0.0.1
`;

/**
 * Starts `carillon serve` on the data in `folder`/data at a free port of 127.0.0.1; settings and log lie beside the data.
 * Rejects with UpstreamError, which holds the last lines of the log, when it ends without having been ready.
 */
export function startDaemonProcess(folder: string): Promise<DaemonProcess> {
  const config = join(folder, "carillon.yaml");
  const logFile = join(folder, "serve.log");
  writeFileSync(config, SETTINGS);
  const program = workerEntry(import.meta.url, "../../main").pathname;
  const args = ["serve", "--data", join(folder, "data"), "--listen", "127.0.0.1:0", "--config", config];
  const child = spawn(process.execPath, ["--enable-source-maps", program, ...args], {
    stdio: ["ignore", "pipe", openSync(logFile, "a")],
  });
  const stop = (): void => void child.kill("SIGTERM");
  const ended = new Promise<number>((resolve) => child.once("close", (code) => resolve(code ?? 1)));
  return new Promise((resolve, reject) => {
    const failed = (words: string): void =>
      reject(new UpstreamError("upstream", `The appliance ${words}\n${lastLines(logFile)}`));
    child.once("error", (error) => failed(`can't be started: ${error.message}`));
    void ended.then((code) => failed(`ended with code ${code} before it was ready.`));
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).once("line", (line) => {
      resolve({ ready: JSON.parse(line) as DaemonReady, ended, stop });
    });
  });
}

function lastLines(file: string): string {
  return readFileSync(file, "utf8").trimEnd().split("\n").slice(-5).join("\n");
}
