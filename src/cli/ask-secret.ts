import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";

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
