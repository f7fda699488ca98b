import type { CampusReport } from "../../src/campus/report.ts";
import { type RunningCampus, startCampus } from "./product.ts";

export type { CampusReport };

/** A campus in a process of its own, as tests use it. */
export interface TestCampus extends RunningCampus {
  /** Tells what ought to have been heard (8 kHz 16-bit mono WAV), so that reports can say `exact`. */
  setProgramme(wav: Uint8Array): Promise<void>;
  report(): Promise<CampusReport>;
  /** Forgets what was recorded. */
  reset(): Promise<void>;
}

/** Starts a campus with its command line `args`; the test ends it. */
export async function startTestCampus(args: readonly string[]): Promise<TestCampus> {
  const campus = await startCampus(args);
  const ask = async (method: string, path: string, body?: Uint8Array): Promise<Response> => {
    const payload = body ? { body: new Uint8Array(body) } : {};
    const response = await fetch(`${campus.control}${path}`, { method, ...payload });
    if (!response.ok) throw new Error(`the campus refuses ${path}: ${await response.text()}`);
    return response;
  };
  return {
    ...campus,
    setProgramme: async (wav) => void (await ask("POST", "/programme", wav)),
    report: async () => (await ask("GET", "/report")).json() as Promise<CampusReport>,
    reset: async () => void (await ask("POST", "/reset")),
  };
}
