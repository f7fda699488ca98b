import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { DeviceRegistration } from "../api-client/register-devices.ts";
import { UpstreamError } from "../lib/errors.ts";
import { workerEntry } from "../lib/worker-entry.ts";

/** Ready line of the simulator, printed once all phones and zones listen. */
export interface SimulatorReady {
  event: "ready";
  /** Base URL of the control server. */
  control: string;
  devices: DeviceRegistration[];
  /** Connection settings of each simulated service, by name; empty without `--services`. */
  services: Record<string, Record<string, string>>;
  /** UDP port of the phones' TFTP server on 127.0.0.1; null without phones. */
  tftpPort: number | null;
}

/** A simulator in a child process. */
export interface SimulatorProcess {
  readonly pid: number;
  readonly ready: SimulatorReady;
  /** Exit code; 1 if a signal killed it. */
  readonly ended: Promise<number>;
  /** Sends SIGTERM; the simulator prints its report as the last line. */
  stop(): void;
}

/**
 * Starts a simulator with the command line `args` and resolves at its ready line; `onLine` gets every later line. Its error
 * messages go to stderr. Resolves with the exit code if it exits before it is ready.
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
      reject(new UpstreamError("upstream", `Failed to start the simulator: ${error.message}`, {}, error)),
    );
    void ended.then(resolve);
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (ready) return onLine(line);
      // --help prints no ready line; its text is passed on.
      if (!line.startsWith("{")) return onLine(line);
      ready = JSON.parse(line) as SimulatorReady;
      resolve({ pid: child.pid as number, ready, ended, stop });
    });
  });
}
