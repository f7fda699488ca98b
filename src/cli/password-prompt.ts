import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { CallerError } from "../lib/errors.ts";
import type { Terminal } from "../lib/terminal.ts";

/** Help text of password options. */
export const PASSWORD_HELP = "at least 12 characters, such as a sentence; default: prompt at the terminal";

/**
 * The password in the environment variable `variable`, else prompts twice. Throws CallerError when the two entries differ,
 * or when there is no terminal to prompt at; that error names `option`.
 */
export async function readNewPassword(
  terminal: Terminal,
  { whose, option, variable }: { whose: string; option: string; variable: string },
): Promise<string> {
  const kept = terminal.env[variable];
  if (kept) return kept;
  const first = await terminal.askSecret(`New password of ${whose}: `);
  if (!first) throw new CallerError("required", `Password missing: add ${option}, or set ${variable}.`);
  if ((await terminal.askSecret("Repeat the password: ")) === first) return first;
  throw new CallerError("invalid-value", "The two passwords differ; nothing was changed. Try again.");
}

/** Prompts at this process's terminal without echo; null without a terminal, or at Ctrl-C and Ctrl-D. */
export async function askSecret(question: string): Promise<string | null> {
  if (!process.stdin.isTTY) return null;
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: silent, terminal: true });
  const cancelled = new AbortController();
  lines.once("SIGINT", () => cancelled.abort());
  lines.once("close", () => cancelled.abort());
  process.stderr.write(question);
  try {
    return await lines.question("", { signal: cancelled.signal });
  } catch (error) {
    if (cancelled.signal.aborted) return null;
    throw error;
  } finally {
    lines.close();
    process.stderr.write("\n");
  }
}
