import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { present } from "../../.ci/setup/debian.mjs";
import { REPOSITORY_ROOT } from "../support/carillon-process.ts";
import { libfaketime } from "./clock.ts";

/** One run of the harness, in a separate process. */
interface Piece {
  /** Numbers of the faults that it injects. @source reliability.md 5 */
  faults: string;
  done: string;
  promise: string;
  /** Arguments of `npm run faults --`, or of a program of dist/. */
  run: readonly string[];
  program?: string;
  needs?: readonly Need[];
}

type Need =
  | "root"
  | "systemd"
  | "faketime"
  | "ffmpeg"
  | "ip"
  | "nft"
  | "python3"
  | "cc"
  | "prlimit"
  | "openssl"
  | "mmdebstrap";

/** Result of a run. */
interface Ended extends Omit<Piece, "run" | "program" | "needs"> {
  measured: string;
  verdict: "kept" | "broken" | "skipped";
  seconds: number;
}

/** All of them take about twenty minutes on two cores. */
const PIECES: readonly Piece[] = [
  {
    ...{ faults: "inputs 1-40", done: "the forty hostile inputs", run: ["inputs"], needs: ["openssl"] },
    promise: "no 5xx, no exit, event loop blocked <= 250 ms",
  },
  {
    ...{ faults: "generated inputs", done: "20,000 valid, invalid and hostile requests", run: ["fuzz", "20000"] },
    promise: "no 5xx, no exit, loop lag p99 < 100 ms",
  },
  { faults: "F1", done: "SIGKILL 20 times under writes", promise: "no acknowledged create lost", run: ["kills", "20"] },
  {
    ...{ faults: "F2 F3", done: "1,000 power cuts, then a failed fsync", run: ["disk", "1000"], needs: ["cc"] },
    promise: "0 lost, 0 corrupt (without fsync: lost); exits <= 2 s, no write accepted after",
  },
  {
    ...{ faults: "F4", done: "a full disk, then free space", run: ["disk-full"], needs: ["root"] },
    promise: "507, reads and alarm work, recovers <= 5 s",
  },
  {
    ...{ faults: "F6", done: "backups under writes, kills, a restore, flipped bits", run: ["backup", "20000"] },
    promise: "event loop turns <= 20 ms, damage is located",
  },
  {
    ...{ faults: "F7 F8 F19", done: "a hang, a crash, good and bad upgrades under systemd", run: ["systemd"] },
    ...{ promise: "recovers <= 10 s, a bad version is rolled back", needs: ["root", "systemd"] },
  },
  {
    ...{ faults: "package", done: "install, upgrade, roll back and purge in a clean Debian", run: ["package"] },
    ...{ promise: "first page <= 60 s, data kept, nothing left", needs: ["root", "systemd", "mmdebstrap"] },
  },
  {
    ...{ faults: "F10", done: "64 open files, all in use", run: ["files"], needs: ["prlimit"] },
    promise: "keeps running, recovers <= 10 s, nothing lost",
  },
  {
    ...{
      faults: "F11-F14 F20",
      done: "cut, silent, flapping, slow links; restores of old backups",
      run: ["cloud", "3"],
    },
    ...{ promise: "replicas agree <= 30 s, nothing lost or duplicated", needs: ["root", "ip", "ffmpeg", "faketime"] },
  },
  {
    ...{ faults: "F11", done: "5 kills and partitions around a bell", run: ["cover", "5"] },
    ...{ promise: "each bell heard <= 5 s, twice only where allowed", needs: ["root", "ip", "ffmpeg"] },
  },
  {
    ...{ faults: "F8 F15", done: "clock changes, suspends and restarts across rings", run: ["clock"] },
    ...{ promise: "each ring once on time, or late, or recorded as missed", needs: ["faketime"] },
  },
  {
    ...{ faults: "network", done: "addresses, links and routes that appear and disappear", run: ["network"] },
    ...{
      promise: "audio is back <= 2 s, health is right, no false `sent`",
      needs: ["root", "ip", "nft", "python3"],
    },
  },
  {
    ...{ faults: "F16", done: "every time zone from 1970 to 2060", run: ["time-zones"], needs: ["python3"] },
    promise: "equal to Python's zoneinfo",
  },
  {
    ...{ faults: "F18", done: "a call manager of 2,000 phones that fails in every way", run: ["phones", "2000"] },
    promise: "phones are kept, event loop turns <= 20 ms, an alarm",
  },
  {
    ...{ faults: "flapping", done: "10,000 flaps of alarms, 50 crashes", run: ["flaps"] },
    promise: "events alternate, each action runs once",
  },
  {
    ...{
      faults: "dead speakers",
      done: "500 rooms with a microphone, half with a dead speaker",
      run: ["heard", "500"],
    },
    promise: "no dead speaker heard, >= 99 % of the others at 0 dB",
  },
  {
    ...{ faults: "links", done: "200 seeds of two appliances and a cloud", program: "dist/test/sim/main.js" },
    ...{ promise: "nothing lost, duplicated or diverged", run: ["--seeds", "200"] },
  },
];

/** Faults that this command does not inject, and where they are tested. */
const ELSEWHERE = [
  "F5 a start on a full disk: the unit tests of the store",
  "F9 a leak up to MemoryMax: only that systemd restarts the service (F7)",
  "F17 unanswered DNS queries: the unit tests of the clients",
];

/** Runs everything and prints the table; false if a goal was missed. */
export async function runAll(say: (progress: string) => void): Promise<boolean> {
  const ended: Ended[] = [];
  for (const piece of PIECES) {
    const missing = (piece.needs ?? []).filter((need) => !isThere(need));
    say(`== ${piece.faults}: ${piece.done}${missing.length > 0 ? ` (skipped, needs ${missing.join(", ")})` : ""}`);
    const one =
      missing.length > 0
        ? { measured: `needs ${missing.join(", ")}`, verdict: "skipped" as const, seconds: 0 }
        : await play(piece);
    ended.push({ faults: piece.faults, done: piece.done, promise: piece.promise, ...one });
    say(`== ${one.verdict} after ${one.seconds} s: ${one.measured}`);
  }
  process.stdout.write(`${tableOf(ended)}\n\nNot injected here:\n${ELSEWHERE.map((each) => `  ${each}\n`).join("")}\n`);
  const count = (verdict: Ended["verdict"]): number => ended.filter((each) => each.verdict === verdict).length;
  process.stdout.write(`${count("kept")} kept, ${count("broken")} broken, ${count("skipped")} skipped\n`);
  return count("broken") === 0;
}

function isThere(need: Need): boolean {
  // Within a container root may lack the right to mount.
  if (need === "root") return process.getuid?.() === 0 && spawnSync("unshare", ["--mount", "true"]).status === 0;
  if (need === "systemd") return existsSync("/lib/systemd/systemd");
  if (need === "faketime") return libfaketime() !== null;
  return present(need);
}

/** A run that takes longer hangs: its process group is killed. Several times the duration of the longest run. */
const MAX_MS = 30 * 60_000;

/** Exit code 2 of a command means that it cannot run on this machine. */
async function play({ run, program }: Piece): Promise<Pick<Ended, "measured" | "verdict" | "seconds">> {
  const began = performance.now();
  const main = program ? resolve(REPOSITORY_ROOT, program) : resolve(process.argv[1] ?? "");
  if (!existsSync(main)) return { measured: `${main} is not built`, verdict: "broken", seconds: 0 };
  const child = spawn(process.execPath, ["--enable-source-maps", main, ...run], {
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (part: string) => {
    text += part;
  });
  const [code, isHung] = await endOf(child);
  const seconds = Math.round((performance.now() - began) / 1_000);
  if (isHung) return { measured: "hung", verdict: "broken", seconds };
  const last = text.trimEnd().split("\n").at(-1) ?? "";
  const verdict = code === 0 ? "kept" : code === 2 ? "skipped" : "broken";
  return { measured: figuresIn(last) || `exit code ${code}`, verdict, seconds };
}

/** Exit code of a group's first process, and whether it was killed. A signal to this process kills the group, too. */
async function endOf(child: ChildProcess): Promise<[code: number | null, isHung: boolean]> {
  let isHung = false;
  const end = (): void => {
    isHung = true;
    try {
      process.kill(-(child.pid as number), "SIGKILL");
    } catch {
      // The group has exited; a process outside of it holds the output.
      child.stdout?.destroy();
    }
  };
  const leave = (): void => {
    end();
    process.exit(130);
  };
  const limit = setTimeout(end, MAX_MS);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, leave);
  const [code] = (await once(child, "close")) as [number | null];
  clearTimeout(limit);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, leave);
  return [code, isHung];
}

/** Scalar figures of the last line, as `name value`. */
function figuresIn(line: string): string {
  try {
    const told = Object.entries(JSON.parse(line) as Record<string, unknown>);
    const figures = told.filter(([, value]) => ["number", "boolean", "string"].includes(typeof value));
    return figures
      .map(([name, value]) => `${name} ${typeof value === "number" ? Math.round(value * 10) / 10 : value}`)
      .join(", ");
  } catch {
    return line;
  }
}

function tableOf(ended: readonly Ended[]): string {
  const lines = ended.map(
    ({ faults, done, promise, measured, verdict, seconds }) =>
      `| ${faults} | ${done} | ${promise} | ${measured} | ${seconds} s | ${verdict} |`,
  );
  return ["| Fault | Injected | Goal | Measured | Duration | |", "|---|---|---|---|---|---|", ...lines].join("\n");
}
