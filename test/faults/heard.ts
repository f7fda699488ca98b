import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { workerEntry } from "../../src/lib/worker-entry.ts";
import type { Detection } from "../../src/speaker-agent/matched-filter.ts";
import type { SyntheticRoom } from "../support/synthetic-room.ts";

export interface RoomTask {
  seed: number;
  /** Runs the 6 dB rule in the filter's place. */
  isPlanted: boolean;
}

/** A room and what was heard in it. */
export interface RoomResult
  extends Pick<SyntheticRoom, "seed" | "plays" | "sound" | "snrDb" | "reverberationS" | "delayMs" | "noises"> {
  detection: Detection | null;
  isHeard: boolean;
  /** Processor time per second of the recording. */
  cpuMsPerS: number;
}

export interface HeardFigures {
  rooms: number;
  silent: number;
  /** Silent speakers that count as heard. */
  falselyHeard: number;
  /** Share of the speakers that play at 0 dB and more, %. */
  foundPercent: number;
  /** Found above noise that is louder than the speaker, %. */
  foundBelowZeroPercent: number;
  /** Between measured and true delay, median. */
  delayErrorMs: number;
  cpuMsPerS: number;
  /** Found by SNR, in Markdown. */
  table: string;
  broken: string[];
}

/** Programme to noise in dB. */
const BANDS = [-10, -5, 0, 5, 10, 15, 20] as const;
const MIN_FOUND_PERCENT = 99;

/** Listens in as many rooms, every second one with a dead speaker, and prints a table. */
export async function hearRooms(
  { rooms, seed, isPlanted }: { rooms: number; seed: number; isPlanted: boolean },
  say: (progress: string) => void,
): Promise<HeardFigures> {
  // Even seeds play.
  const tasks = Array.from({ length: rooms }, (_, n) => ({ seed: 2 * seed * 1_000_000 + n, isPlanted }));
  const results = await runAll(tasks, say);
  const silent = results.filter(({ plays }) => !plays);
  const playing = results.filter(({ plays }) => plays);
  const falselyHeard = silent.filter(({ isHeard }) => isHeard);
  for (const each of falselyHeard) say(`falsely heard: ${describe(each)}`);
  for (const each of playing) if (!each.isHeard && each.snrDb >= 0) say(`not found: ${describe(each)}`);
  const figures = {
    ...{ rooms: results.length, silent: silent.length, falselyHeard: falselyHeard.length },
    foundPercent: percentHeard(playing.filter(({ snrDb }) => snrDb >= 0)),
    foundBelowZeroPercent: percentHeard(playing.filter(({ snrDb }) => snrDb < 0)),
    delayErrorMs: median(
      playing.flatMap(({ isHeard, detection, delayMs }) =>
        isHeard && detection ? [Math.abs(detection.delayMs - delayMs)] : [],
      ),
    ),
    cpuMsPerS: median(results.map(({ cpuMsPerS }) => cpuMsPerS)),
  };
  const broken = [
    ...(figures.falselyHeard > 0 ? [`${figures.falselyHeard} of ${figures.silent} silent speakers were heard`] : []),
    ...(figures.foundPercent < MIN_FOUND_PERCENT ? [`only ${figures.foundPercent} % were found at 0 dB and more`] : []),
  ];
  return { ...figures, table: tableOf(playing), broken };
}

/** The figures for docs/benchmarks.md. */
export function heardReport({ rooms, silent, falselyHeard, table, ...figures }: HeardFigures): string {
  return [
    table,
    "",
    `Falsely heard: ${falselyHeard} of ${silent} dead speakers. Found of the ${rooms - silent} others: ${figures.foundPercent} %`,
    `at 0 dB and more, ${figures.foundBelowZeroPercent} % below. Medians: error of the delay ${figures.delayErrorMs} ms, processor`,
    `time ${figures.cpuMsPerS} ms per second of audio.`,
  ].join("\n");
}

async function runAll(tasks: readonly RoomTask[], say: (progress: string) => void): Promise<RoomResult[]> {
  const waiting = [...tasks].reverse();
  const results: RoomResult[] = [];
  const runThread = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const worker = new Worker(workerEntry(import.meta.url, "./heard-worker"));
      const next = (): void => {
        const task = waiting.pop();
        if (task) worker.postMessage(task);
        else void worker.terminate().then(() => resolve());
      };
      worker.on("error", reject);
      worker.on("message", (result: RoomResult) => {
        results.push(result);
        if (results.length % 200 === 0) say(`${results.length} of ${tasks.length} rooms`);
        next();
      });
      next();
    });
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), tasks.length) }, runThread));
  return results.sort((a, b) => a.seed - b.seed);
}

function tableOf(playing: readonly RoomResult[]): string {
  const rows = BANDS.slice(1).map((to, n) => {
    const from = BANDS[n] as number;
    const band = playing.filter(({ snrDb }) => snrDb >= from && snrDb < to);
    const heard = band.filter(({ isHeard }) => isHeard);
    const level = median(heard.flatMap(({ detection, snrDb }) => (detection ? [detection.levelDb - snrDb] : [])));
    return `| ${from} to ${to} dB | ${band.length} | ${heard.length} | ${percentHeard(band)} % | ${level} dB |`;
  });
  return ["| SNR | Playing | Found | | Level off by (median) |", "|---|---|---|---|---|", ...rows].join("\n");
}

function percentHeard(results: readonly RoomResult[]): number {
  if (results.length === 0) return 100;
  return Math.floor((results.filter(({ isHeard }) => isHeard).length / results.length) * 10_000) / 100;
}

function describe({ seed, sound, snrDb, reverberationS, noises, detection }: RoomResult): string {
  const match = detection ? `p ${detection.pValue.toExponential(1)}` : "no match";
  return `room ${seed}: ${sound}, ${snrDb.toFixed(1)} dB, ${reverberationS.toFixed(1)} s, ${noises.join(" + ")}: ${match}`;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return Math.round((sorted[sorted.length >> 1] ?? 0) * 10) / 10;
}
