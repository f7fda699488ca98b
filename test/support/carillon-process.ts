import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { resolve, sep } from "node:path";
import { createInterface } from "node:readline";

/** The repository, from the source of this file as well as from its compiled form. */
export const REPOSITORY_ROOT = resolve(
  import.meta.dirname,
  import.meta.dirname.includes(`${sep}dist${sep}`) ? "../../.." : "../..",
);
const MAIN = resolve(REPOSITORY_ROOT, "dist/src/main.js");
const SIMULATOR = resolve(REPOSITORY_ROOT, "dist/src/tools/simulator/main.js");

/** What `carillon init --json` prints. */
export interface InitOutput {
  userId: string;
  token: string;
  providerId: string;
  extensionId: string;
  endpointId: string;
  domainId: string;
}

/** A process of the product that has printed its first line; its log goes to `log`. */
export interface RunningProcess {
  readonly child: ChildProcess;
  /** Lines of stdout that came after the first. */
  readonly lines: readonly string[];
  /** Text of stderr, at most the last 64 KiB. */
  log(): string;
  /** Sends a signal and resolves with the exit code, null when the signal ended it. */
  end(signal: "SIGTERM" | "SIGKILL"): Promise<number | null>;
}

/** The daemon in a process of its own. */
export interface RunningDaemon extends RunningProcess {
  /** Such as `http://127.0.0.1:41234`. */
  url: string;
  urls: Record<string, string>;
}

/** The virtual campus in a process of its own. */
export interface RunningSimulator extends RunningProcess {
  control: string;
  devices: { type: string; deviceIdentifier: string; description: string; attributes: Record<string, string> }[];
}

/** Runs `carillon <args>` to its end, with `env` beside what is set here. */
export async function runCarillon(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
  });
  const [stdout, stderr] = [textOf(child.stdout), textOf(child.stderr)];
  const [code] = (await once(child, "close")) as [number | null];
  return { code: code ?? -1, stdout: stdout(), stderr: stderr() };
}

/** Settings of a daemon whose devices and peers, the campus before all, live on this machine. */
export const LOOPBACK_SETTINGS = "network: {allowedTargets: [127.0.0.0/8], multicastInterface: 127.0.0.1}\n";

/** Sets up an appliance in `dataDir`. */
export async function runInit(dataDir: string): Promise<InitOutput> {
  const account = ["--admin-email", "admin@example.org", "--admin-password", "correct horse battery"];
  const { code, stdout, stderr } = await runCarillon(["init", "--data", dataDir, ...account, "--json"]);
  if (code !== 0) throw new Error(`init ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as InitOutput;
}

/** Starts `carillon serve` on a free port, with `env` beside what is set here, and resolves once it is ready. */
export async function serveAppliance(
  dataDir: string,
  more: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<RunningDaemon> {
  return spawnDaemon(["serve", "--data", dataDir, "--listen", "127.0.0.1:0", ...more], env);
}

/** Starts `carillon serve` or `hub` (or another `program`) with these arguments, by the command `inside` where one is given. */
export async function spawnDaemon(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  inside: readonly string[] = [],
  program = MAIN,
): Promise<RunningDaemon> {
  const { first, running } = await start([program, ...args], env, inside);
  const { url, urls } = JSON.parse(first) as { url: string; urls: Record<string, string> };
  return { ...running, url, urls };
}

/** Starts a campus and resolves once all its devices listen. */
export async function spawnSimulatorProcess(args: readonly string[]): Promise<RunningSimulator> {
  const { first, running } = await start([SIMULATOR, ...args]);
  const { control, devices } = JSON.parse(first) as Pick<RunningSimulator, "control" | "devices">;
  return { ...running, control, devices };
}

async function start(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  inside: readonly string[] = [],
): Promise<{ first: string; running: RunningProcess }> {
  const stdio: ["ignore", "pipe", "pipe"] = ["ignore", "pipe", "pipe"];
  const [command = "", ...rest] = [...inside, process.execPath, ...args];
  const child = spawn(command, rest, { stdio, env: { ...process.env, ...env } });
  const log = textOf(child.stderr);
  const lines: string[] = [];
  const closed = once(child, "close") as Promise<[number | null]>;
  const first = await new Promise<string>((done, failed) => {
    void closed.then(([code]) => failed(new Error(`it ended with ${code} before it was ready: ${log()}`)));
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on("line", (line) => {
      lines.push(line);
      done(line);
    });
  });
  lines.shift();
  const end = async (signal: "SIGTERM" | "SIGKILL"): Promise<number | null> => {
    child.kill(signal);
    return (await closed)[0];
  };
  return { first, running: { child, lines, log, end } };
}

function textOf(stream: NodeJS.ReadableStream | null): () => string {
  let text = "";
  stream?.setEncoding("utf8");
  stream?.on("data", (part: string) => {
    text = (text + part).slice(-65_536);
  });
  return () => text;
}
