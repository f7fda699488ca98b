import { runCommandLine } from "../../../src/cli/program.ts";

/** What a command wrote and how it ended. */
export interface Ran {
  exitCode: number;
  out: string[];
  err: string[];
}

/** Runs one command line in this process, as `carillon …` would; `answers` is what somebody types when asked. */
export async function runCommand(
  argv: readonly string[],
  env: Record<string, string> = {},
  answers: string[] = [],
): Promise<Ran> {
  const out: string[] = [];
  const err: string[] = [];
  const exitCode = await runCommandLine(argv, {
    out: (line) => void out.push(line),
    err: (line) => void err.push(line),
    errIsTerminal: false,
    env,
    askSecret: async () => answers.shift() ?? null,
    onStop: () => () => undefined,
  });
  return { exitCode, out, err };
}
