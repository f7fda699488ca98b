import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { runInit, spawnDaemon } from "../support/carillon-process.ts";

/** What a lack of open files did. */
export interface OpenFilesRun {
  /** Connections that clients held open. */
  held: number;
  /** From their end to the first write that was taken, ms; -1 for none within half a minute. */
  recoveredMs: number;
  /** Answered creates that were gone in the end. */
  lost: number;
  /** Whether it was the same process all along. */
  survived: boolean;
}

/** What a daemon with its plugins holds open when it is ready is about half of it. */
const MAX_FILES = 64;

/** Lets a daemon have few open files, has clients hold all that are left, and lets them go. Needs `prlimit`. */
export async function exhaustOpenFiles(say: (progress: string) => void): Promise<OpenFilesRun> {
  const dataDir = mkdtempSync(join(tmpdir(), "carillon-files-"));
  try {
    const { token } = await runInit(dataDir);
    const args = ["serve", "--data", dataDir, "--listen", "127.0.0.1:0"];
    const daemon = await spawnDaemon(args, {}, ["prlimit", `--nofile=${MAX_FILES}:${MAX_FILES}`]);
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json", connection: "close" };
    const create = async (name: string): Promise<string | null> => {
      const signal = AbortSignal.timeout(5_000);
      const sent = { method: "POST", headers, body: JSON.stringify({ name, type: "anonymous" }), signal };
      const answer = await fetch(`${daemon.url}/api/v1/users`, sent).catch(() => null);
      return answer?.status === 200 ? ((await answer.json()) as { id: string }).id : null;
    };
    try {
      const made = [await create("Before")];
      const sockets = await Promise.all(Array.from({ length: MAX_FILES * 2 }, () => dial(daemon.url)));
      made.push(await create("While none is left"));
      const held = sockets.filter((socket) => !socket.destroyed).length;
      say(`${held} clients hold on`);
      for (const socket of sockets) socket.destroy();
      const began = performance.now();
      let after: string | null = null;
      while (after === null && performance.now() - began < 30_000) {
        after = await create("After");
        if (after === null) await pause(100);
      }
      const recoveredMs = after === null ? -1 : Math.round(performance.now() - began);
      let lost = 0;
      for (const id of [...made, after].filter((each) => each !== null))
        if ((await fetch(`${daemon.url}/api/v1/users/${id}`, { headers })).status !== 200) lost += 1;
      return { held, recoveredMs, lost, survived: daemon.child.exitCode === null };
    } finally {
      await daemon.end("SIGTERM");
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function dial(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => undefined);
  await Promise.race([once(socket, "connect"), pause(1_000)]);
  return socket;
}
