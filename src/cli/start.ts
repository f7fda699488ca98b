import { setFlagsFromString } from "node:v8";
import { askSecret } from "./password-prompt.ts";
import { runCommandLine } from "./program.ts";
import type { Terminal } from "./terminal.ts";

const SIGNALS = ["SIGTERM", "SIGINT"] as const;

const terminal: Terminal = {
  out: (line) => void process.stdout.write(`${line}\n`),
  err: (line) => void process.stderr.write(`${line}\n`),
  errIsTerminal: process.stderr.isTTY === true,
  env: process.env,
  askSecret,
  onStop(stop) {
    for (const signal of SIGNALS) process.on(signal, stop);
    return () => {
      for (const signal of SIGNALS) process.off(signal, stop);
    };
  },
};

/** Runs the command of this process's arguments, and ends the process with its exit code. */
export async function main(): Promise<never> {
  // V8 lets garbage grow to three times what lives before it looks for it; on a small box that memory is better left free.
  setFlagsFromString("--heap-growing-percent=50");
  // Whoever read the output went away: no reason to leave an appliance or a demo behind half ended.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
  // What an appliance writes is for its own user alone, also in a folder that others may read.
  process.umask(0o077);
  const exitCode = await runCommandLine(process.argv.slice(2), terminal);
  // A pipe takes a long text in pieces.
  await new Promise<void>((resolve) => void process.stdout.write("", () => resolve()));
  // Ends now, whatever is still open: after a fault of the disk nothing more may be written.
  process.exit(exitCode);
}
