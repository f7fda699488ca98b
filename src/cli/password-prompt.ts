import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { CallerError } from "../lib/errors.ts";
import type { Terminal } from "./terminal.ts";

/** What may be given for a password, as help says it. */
export const PASSWORD_HELP = "8 to 1024 signs; asked for at a terminal";

/**
 * A password from the environment's `variable`, else by asking twice. Throws CallerError when the two differ, or when
 * nobody can be asked: it then names `option`.
 */
export async function readNewPassword(
  terminal: Terminal,
  { whose, option, variable }: { whose: string; option: string; variable: string },
): Promise<string> {
  const kept = terminal.env[variable];
  if (kept) return kept;
  const first = await terminal.askSecret(`New password of ${whose}: `);
  if (!first) throw new CallerError("required", `Give a password: ${option}, or ${variable} in the environment.`);
  if ((await terminal.askSecret("Once more: ")) === first) return first;
  throw new CallerError("invalid-value", "The two passwords differ: nothing was changed. Try again.");
}

/** Asks at this process's terminal for a word that is not shown; null when there is none, or at Ctrl-C and Ctrl-D. */
export async function askSecret(question: string): Promise<string | null> {
  if (!process.stdin.isTTY) return null;
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  const leaving = new AbortController();
  lines.once("SIGINT", () => leaving.abort());
  lines.once("close", () => leaving.abort());
  process.stderr.write(question);
  try {
    return await lines.question("", { signal: leaving.signal });
  } catch (error) {
    if (leaving.signal.aborted) return null;
    throw error;
  } finally {
    lines.close();
    process.stderr.write("\n");
  }
}
