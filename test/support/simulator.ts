import type { SimulatorReport } from "../../src/tools/simulator/report.ts";
import { type RunningSimulator, spawnSimulatorProcess } from "./carillon-process.ts";

export type { SimulatorReport };

/** A campus in a process of its own, as tests use it. */
export interface TestSimulatorProcess extends RunningSimulator {
  /** Tells what ought to have been heard (8 kHz 16-bit mono WAV), so that reports can say `exact`. */
  setExpectedAudio(wav: Uint8Array): Promise<void>;
  report(): Promise<SimulatorReport>;
  /** Forgets what was recorded. */
  reset(): Promise<void>;
}

/** Starts a campus with its command line `args`; the test ends it. */
export async function startTestSimulatorProcess(args: readonly string[]): Promise<TestSimulatorProcess> {
  const campus = await spawnSimulatorProcess(args);
  const ask = async (method: string, path: string, body?: Uint8Array): Promise<Response> => {
    const payload = body ? { body: new Uint8Array(body) } : {};
    const response = await fetch(`${campus.control}${path}`, { method, ...payload });
    if (!response.ok) throw new Error(`the campus refuses ${path}: ${await response.text()}`);
    return response;
  };
  return {
    ...campus,
    setExpectedAudio: async (wav) => void (await ask("POST", "/programme", wav)),
    report: async () => (await ask("GET", "/report")).json() as Promise<SimulatorReport>,
    reset: async () => void (await ask("POST", "/reset")),
  };
}
