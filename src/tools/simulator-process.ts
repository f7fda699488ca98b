import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { DeviceRegistration } from "../api-client/register-devices.ts";
import { UpstreamError } from "../lib/errors.ts";
import { workerEntry } from "../lib/worker-entry.ts";

/** What a campus says once all its phones and zones listen. */
export interface SimulatorReady {
  event: "ready";
  /** Base URL of its remote control. */
  control: string;
  devices: DeviceRegistration[];
  /** What an appliance must know of each service, by its name; empty without `--services`. */
  services: Record<string, Record<string, string>>;
}

/** A campus in a process of its own. */
export interface SimulatorProcess {
  readonly pid: number;
  readonly ready: SimulatorReady;
  /** Its exit code; 1 when a signal killed it. */
  readonly ended: Promise<number>;
  /** Asks it to end, which makes it say its last line. */
  stop(): void;
}

/**
 * Starts a campus with its own command line `args` and resolves at its ready line; `onLine` gets every line that follows.
 * What it complains of goes to stderr. Resolves with its exit code when it ends without having been ready.
 */
export function startSimulatorProcess(
  args: readonly string[],
  onLine: (line: string) => void,
): Promise<SimulatorProcess | number> {
  const program = workerEntry(import.meta.url, "./simulator/main").pathname;
  const child = spawn(process.execPath, ["--enable-source-maps", program, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const stop = (): void => void child.kill("SIGTERM");
  const ended = new Promise<number>((resolve) => child.once("close", (code) => resolve(code ?? 1)));
  return new Promise((resolve, reject) => {
    let ready: SimulatorReady | null = null;
    child.once("error", (error) =>
      reject(new UpstreamError("upstream", `The campus can't be started: ${error.message}`, {}, error)),
    );
    void ended.then(resolve);
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (ready) return onLine(line);
      // Help has no ready line; it is passed on as it is.
      if (!line.startsWith("{")) return onLine(line);
      ready = JSON.parse(line) as SimulatorReady;
      resolve({ pid: child.pid as number, ready, ended, stop });
    });
  });
}
