import { systemClock } from "../../lib/clock.ts";
import { CallerError } from "../../lib/errors.ts";
import { parseSimulatorOptions, USAGE } from "./options.ts";
import { startSimulator } from "./simulator.ts";

/** Exit code for an invalid command line. */
const EXIT_USAGE = 2;

/** Runs a simulator until a signal ends it; stdout: first the ready line, last the report. */
async function runSimulator(argv: string[]): Promise<void> {
  const options = parseSimulatorOptions(argv);
  if (options === "help") return void process.stdout.write(USAGE);
  const simulator = await startSimulator(options, systemClock);
  const { control, devices, services, tftpPort } = simulator;
  let stopping = false;
  const stop = async (): Promise<void> => {
    if (stopping) return;
    stopping = true;
    const report = simulator.report();
    await simulator.stop();
    process.stdout.write(`${JSON.stringify(report)}\n`);
  };
  process.on("SIGTERM", () => void stop());
  process.on("SIGINT", () => void stop());
  process.stdout.write(`${JSON.stringify({ event: "ready", control, devices, services, tftpPort })}\n`);
}

runSimulator(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`simulator: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = error instanceof CallerError ? EXIT_USAGE : 1;
});
