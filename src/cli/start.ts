import type { Terminal } from "../lib/terminal.ts";
import { runCommandLine } from "./program.ts";

const SIGNALS = ["SIGTERM", "SIGINT"] as const;

const terminal: Terminal = {
  out: (line) => void process.stdout.write(`${line}\n`),
  err: (line) => void process.stderr.write(`${line}\n`),
  errIsTerminal: process.stderr.isTTY === true,
  env: process.env,
  askSecret: async (question) => (await import("./ask-secret.ts")).askSecret(question),
  onStop(stop) {
    for (const signal of SIGNALS) process.on(signal, stop);
    return () => {
      for (const signal of SIGNALS) process.off(signal, stop);
    };
  },
};

/** Runs the command line of this process and exits with its exit code. */
export async function main(): Promise<never> {
  // The reader of the output may close the pipe; that must not stop an appliance or a demo halfway.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
  // Node would open its debugger on loopback, for all programs of the machine.
  process.on("SIGUSR1", () => undefined);
  // Files that the appliance writes are readable by its own user only, even in a folder that others may read.
  process.umask(0o077);
  const exitCode = await runCommandLine(process.argv.slice(2), terminal);
  // A pipe accepts a long text in several writes: wait until all of it is written.
  await new Promise<void>((resolve) => void process.stdout.write("", () => resolve()));
  // Exit now, even with open handles: after a disk error nothing more may be written.
  process.exit(exitCode);
}
