import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { Agent } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runInit, serveAppliance } from "../support/carillon-process.ts";
import { answerTo, SETTINGS } from "./fuzz.ts";
import { type ConnectionTarget, HOSTILE_STORIES } from "./hostile-connections.ts";
import { hostileInputs } from "./hostile-requests.ts";
import { readLoopStatistics, withLoopMonitor } from "./loop-monitor.ts";

/** What became of one hostile input. */
export interface HostileInputResult {
  number: number;
  what: string;
  /** Statuses of its answers, each once; empty for what is no request. */
  answers: number[];
  /** Broken promises in words. */
  broken: string[];
}

/** What became of all, and of the daemon meanwhile. */
export interface InputsRun {
  verdicts: HostileInputResult[];
  /** Whether it was the same process all along. */
  alive: boolean;
  /** Most processor time that the daemon's main thread took in one turn of its loop, in ms. */
  turnMaxMs: number;
}

/** Brings the forty hostile inputs, or the one of this number, to a daemon of its own. */
export async function sendHostileInputs(only: number | null, say: (progress: string) => void): Promise<InputsRun> {
  const folder = await mkdtemp(join(tmpdir(), "carillon-inputs-"));
  const pulse = join(folder, "pulse.json");
  try {
    const first = await runInit(folder);
    await writeFile(join(folder, "settings.yaml"), SETTINGS);
    const daemon = await withLoopMonitor(pulse, () =>
      serveAppliance(folder, ["--config", join(folder, "settings.yaml")]),
    );
    try {
      const verdicts: HostileInputResult[] = [];
      for (const play of playsOf({ url: daemon.url, first }, only)) {
        const verdict = await play();
        say(
          `${verdict.number} ${verdict.what}: ${verdict.answers.join(", ") || "no answers"} ${verdict.broken.join("; ")}`,
        );
        verdicts.push(verdict);
      }
      await new Promise((done) => setTimeout(done, 500));
      const alive = daemon.child.exitCode === null && daemon.child.signalCode === null;
      return { verdicts, alive, turnMaxMs: Math.round((await readLoopStatistics(pulse)).turnMaxMs) };
    } finally {
      await daemon.end("SIGTERM");
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** In the order of their numbers. */
function playsOf(target: ConnectionTarget, only: number | null): (() => Promise<HostileInputResult>)[] {
  const requests = hostileInputs(target.first).flatMap(({ number, ...input }) =>
    number === null ? [] : [{ number, play: () => send(target, { number, ...input }) }],
  );
  const stories = HOSTILE_STORIES.map(({ number, what, attack }) => ({
    number,
    play: async (): Promise<HostileInputResult> => ({ number, what, answers: [], broken: await attack(target) }),
  }));
  return [...requests, ...stories]
    .filter(({ number }) => only === null || number === only)
    .sort((a, b) => a.number - b.number)
    .map(({ play }) => play);
}

async function send(
  { url, first }: ConnectionTarget,
  { number, what, requests, isRefused = false }: ReturnType<typeof hostileInputs>[number] & { number: number },
): Promise<HostileInputResult> {
  const agent = new Agent();
  const answers: number[] = [];
  const broken: string[] = [];
  for (const [at, request] of requests.entries()) {
    const { status, text } = await answerTo(request, url, first.token, agent);
    if (!answers.includes(status)) answers.push(status);
    if (status >= 500) broken.push(`request ${at + 1} was answered ${status}: ${text.slice(0, 200)}`);
    if (isRefused && status >= 200 && status < 300) broken.push(`request ${at + 1} was taken`);
  }
  agent.destroy();
  return { number, what, answers, broken };
}
