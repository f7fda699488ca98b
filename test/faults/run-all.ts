import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { present } from "../../.ci/setup/debian.mjs";
import { REPOSITORY_ROOT } from "../support/carillon-process.ts";
import { libfaketime } from "./clock.ts";

/** One thing that is done to the product, by a command of its own. */
interface Piece {
  /** The faults that it injects, as they are numbered there. @source reliability.md 5 */
  faults: string;
  done: string;
  promise: string;
  /** The words behind `npm run faults --`, or a program of dist/ with its arguments. */
  run: readonly string[];
  program?: string;
  needs?: readonly Need[];
}

type Need = "root" | "systemd" | "faketime" | "ffmpeg" | "ip" | "nft" | "python3" | "cc" | "prlimit" | "openssl";

/** How a piece ended. */
interface Ended extends Omit<Piece, "run" | "program" | "needs"> {
  measured: string;
  verdict: "kept" | "broken" | "skipped";
  seconds: number;
}

/** Sizes are such that all take about twenty minutes on two cores. */
const PIECES: readonly Piece[] = [
  {
    ...{ faults: "inputs 1-40", done: "the forty hostile inputs", run: ["inputs"], needs: ["openssl"] },
    promise: "no 5xx, no end, turns of the loop <= 250 ms",
  },
  {
    ...{ faults: "inputs, made up", done: "20,000 requests, right, wrong and hostile", run: ["fuzz", "20000"] },
    promise: "no 5xx, no end, lag p99 < 100 ms",
  },
  { faults: "F1", done: "SIGKILL 20 times under writes", promise: "no answered create lost", run: ["kills", "20"] },
  {
    ...{ faults: "F2 F3", done: "1,000 power cuts, then a sync that fails", run: ["disk", "1000"], needs: ["cc"] },
    promise: "0 lost, 0 broken, a lazy disk loses; ends <= 2 s, nothing taken after",
  },
  {
    ...{ faults: "F4", done: "the disk full, then free", run: ["disk-full"], needs: ["root"] },
    promise: "507, reads and alarm go on, again <= 5 s",
  },
  {
    ...{ faults: "F6", done: "backups under writers, killed, restored, flipped bits", run: ["backup", "20000"] },
    promise: "turns <= 20 ms, the damage is named",
  },
  {
    ...{ faults: "F7 F8 F19", done: "a hang, a crash, good and bad upgrades under systemd", run: ["systemd"] },
    ...{ promise: "works again <= 10 s, a bad version makes way", needs: ["root", "systemd"] },
  },
  {
    ...{ faults: "F10", done: "64 open files, all taken", run: ["files"], needs: ["prlimit"] },
    promise: "goes on, again <= 10 s, nothing lost",
  },
  {
    ...{ faults: "F11-F14 F20", done: "cut, muted, flapping, slow lines; backups of yesterday", run: ["cloud", "3"] },
    ...{ promise: "all agree <= 30 s, nothing lost or twice", needs: ["root", "ip", "ffmpeg", "faketime"] },
  },
  {
    ...{ faults: "F11", done: "5 kills and partitions around a bell", run: ["cover", "5"] },
    ...{ promise: "each bell heard, <= 5 s, twice only for a reason", needs: ["root", "ip", "ffmpeg"] },
  },
  {
    ...{ faults: "F8 F15", done: "the clock set forward and back, stops and ends across rings", run: ["clock"] },
    ...{ promise: "each ring once at its time, or late, or written down", needs: ["faketime"] },
  },
  {
    ...{ faults: "network", done: "addresses, links and routes that come and go", run: ["network"] },
    ...{
      promise: "sound is back <= 2 s, health is true, nothing sent in vain",
      needs: ["root", "ip", "nft", "python3"],
    },
  },
  {
    ...{ faults: "F16", done: "every time zone from 1972 to 2060", run: ["time-zones"], needs: ["python3"] },
    promise: "as Python's zoneinfo has it",
  },
  {
    ...{ faults: "F18", done: "a call manager of 2,000 phones that fails in every way", run: ["phones", "2000"] },
    promise: "the phones stay, turns <= 20 ms, an alarm",
  },
  {
    ...{ faults: "flapping", done: "10,000 flaps of alarms, 50 crashes", run: ["flaps"] },
    promise: "events alternate, each action once",
  },
  {
    ...{
      faults: "dead speakers",
      done: "500 rooms with a microphone, half of the speakers dead",
      run: ["heard", "500"],
    },
    promise: "no dead one heard, >= 99 % of the others found at 0 dB",
  },
  {
    ...{ faults: "links", done: "200 seeds of two appliances and a cloud", program: "dist/test/sim/main.js" },
    ...{ promise: "nothing lost, twice or apart", run: ["--seeds", "200"] },
  },
];

/** Faults that this command does not inject, and what looks at them instead. */
const ELSEWHERE = [
  "F5 a start on a full disk: the unit tests of the store",
  "F9 a leak up to MemoryMax: only that systemd starts the service again (F7)",
  "F17 names that are not answered: the unit tests of what calls by name",
];

/** Runs all pieces and prints the table; false when a promise was broken. */
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

/** A piece that takes so long hangs: it is ended with all that it started. own choice: several times what any takes */
const MAX_MS = 30 * 60_000;

/** Exit code 2 of a command says that it can't be played here. */
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
  if (isHung) return { measured: "it hung", verdict: "broken", seconds };
  const last = text.trimEnd().split("\n").at(-1) ?? "";
  const verdict = code === 0 ? "kept" : code === 2 ? "skipped" : "broken";
  return { measured: figuresIn(last) || `ended with ${code}`, verdict, seconds };
}

/** Exit code of a group's first process, and whether it had to be ended. Whoever ends this process ends the group, too. */
async function endOf(child: ChildProcess): Promise<[code: number | null, isHung: boolean]> {
  let isHung = false;
  const end = (): void => {
    isHung = true;
    try {
      process.kill(-(child.pid as number), "SIGKILL");
    } catch {
      // Nobody is left of it; what holds its output is none of the group.
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

/** The last line's figures that are numbers, words or truths, as `name value`. */
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
  return ["| Number | Done | Promise | Measured | Took | |", "|---|---|---|---|---|---|", ...lines].join("\n");
}
