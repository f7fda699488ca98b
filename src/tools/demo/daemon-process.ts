import { spawn } from "node:child_process";
import { openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { UpstreamError } from "../../lib/errors.ts";
import { workerEntry } from "../../lib/worker-entry.ts";

/** Ready line of `carillon serve`. */
export interface DaemonReady {
  event: "ready";
  url: string;
  pid: number;
  urls: Record<string, string>;
}

/** A daemon in a child process. */
export interface DaemonProcess {
  readonly ready: DaemonReady;
  /** Exit code; 1 if a signal killed it. */
  readonly ended: Promise<number>;
  /** Sends SIGTERM. */
  stop(): void;
}

/** Simulated phones and zones use the loopback interface, which is not allowed by default. */
const SETTINGS = `network:
  allowedTargets: [127.0.0.0/8]
  multicastInterface: 127.0.0.1
`;

/**
 * Starts `carillon serve` on the data in `folder`/data at a free port of 127.0.0.1; settings and log are stored in `folder`.
 * Rejects with UpstreamError, which contains the last log lines, if the daemon exits before it is ready.
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
    const failed = (message: string): void =>
      reject(new UpstreamError("upstream", `The appliance ${message}\n${lastLines(logFile)}`));
    child.once("error", (error) => failed(`failed to start: ${error.message}`));
    void ended.then((code) => failed(`exited with code ${code} before it was ready.`));
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).once("line", (line) => {
      resolve({ ready: JSON.parse(line) as DaemonReady, ended, stop });
    });
  });
}

function lastLines(file: string): string {
  return readFileSync(file, "utf8").trimEnd().split("\n").slice(-5).join("\n");
}
