import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { REPOSITORY_ROOT } from "../support/carillon-process.ts";

/** A program of the benches that serves over HTTP, running. */
export interface RawServer {
  /** Without a slash at its end. */
  url: string;
  pid: number;
  /** What it printed behind its port. */
  words: string[];
  stop(): Promise<unknown>;
}

/** Starts `dist/test/bench/<name>.js` with arguments; it prints its port. */
export async function startRawServer(name: string, ...args: string[]): Promise<RawServer> {
  const program = resolve(REPOSITORY_ROOT, `dist/test/bench/${name}.js`);
  const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  const [port, ...words] = line.split(" ");
  const closed = once(child, "close");
  const stop = (): Promise<unknown> => {
    child.kill("SIGTERM");
    return closed;
  };
  return { url: `http://127.0.0.1:${port}`, pid: child.pid ?? 0, words, stop };
}
