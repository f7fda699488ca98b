import { systemClock } from "../../lib/clock.ts";
import { CallerError } from "../../lib/errors.ts";
import { parseSimulatorOptions, USAGE } from "./options.ts";
import { startSimulator } from "./simulator.ts";

/** Exit code for a command line that can't be understood. */
const EXIT_USAGE = 2;

/** Runs a campus until a signal ends it: one ready line first, the report as the last line of stdout. */
async function runSimulator(argv: string[]): Promise<void> {
  const options = parseSimulatorOptions(argv);
  if (options === "help") return void process.stdout.write(USAGE);
  const campus = await startSimulator(options, systemClock);
  const { control, devices, services } = campus;
  let stopping = false;
  const stop = async (): Promise<void> => {
    if (stopping) return;
    stopping = true;
    const report = campus.report();
    await campus.stop();
    process.stdout.write(`${JSON.stringify(report)}\n`);
  };
  process.on("SIGTERM", () => void stop());
  process.on("SIGINT", () => void stop());
  process.stdout.write(`${JSON.stringify({ event: "ready", control, devices, services })}\n`);
}

runSimulator(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`campus: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = error instanceof CallerError ? EXIT_USAGE : 1;
});
