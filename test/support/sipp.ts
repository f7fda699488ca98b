import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { makeTempDir } from "./temp-dir.ts";

const SCENARIOS = join(import.meta.dirname, "../fixtures/sipp");

/** Runs a scenario of test/fixtures/sipp against an appliance on loopback, several calls at once; resolves with its status. */
export async function runSipp(
  scenario: string,
  { port, number, calls }: { port: number; number: string; calls: number },
): Promise<number | null> {
  const options = ["-sf", join(SCENARIOS, scenario), "-s", number, "-m", String(calls), "-l", String(calls)];
  const where = ["-i", "127.0.0.1", "-mi", "127.0.0.1", "-r", "50", "-nostdin", "-timeout", "120"];
  const child = spawn("sipp", [`127.0.0.1:${port}`, ...options, ...where], { cwd: makeTempDir(), stdio: "ignore" });
  const [code] = (await once(child, "exit")) as [number | null];
  return code;
}
