import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { systemClock } from "../../src/lib/clock.ts";
import { selectPlayer } from "../../src/speaker-agent/audio-output.ts";
import { runSpeakerAgent, type SpeakerAgentDeps } from "../../src/speaker-agent/speaker-agent.ts";
import { openStateFolder } from "../../src/speaker-agent/state-folder.ts";
import { JOIN_SECRET } from "./speakers-fixture.ts";

export const MAC = "02005E100001";

/** Runs the product's own agent; what its player got is kept in `played`. */
export async function startAgent(url: string, folder: string, changes: Partial<SpeakerAgentDeps> = {}) {
  const played = join(folder, "played.raw");
  const program = join(folder, "player");
  writeFileSync(program, `#!/bin/sh\nexec cat >> ${played}\n`);
  chmodSync(program, 0o700);
  const stopping = new AbortController();
  const log: string[] = [];
  const needs: SpeakerAgentDeps = {
    ...{
      clock: systemClock,
      server: url,
      joinSecret: JOIN_SECRET,
      state: await openStateFolder(join(folder, "state")),
    },
    ...{ mac: MAC, name: "Gym", model: "test-agent", version: "1", port: 0, bufferMs: 2_000 },
    open: selectPlayer(`exec:${program}`, null, ""),
    ...{ listen: null, watchNetwork: null, machine: { bootId: null, isClockSet: async () => true } },
    log: (words) => void log.push(words),
    ...changes,
  };
  const running = runSpeakerAgent(needs, stopping.signal);
  running.catch((error: Error) => log.push(error.message));
  const stop = async (): Promise<void> => {
    stopping.abort();
    await running;
  };
  return { played, log, stop, running };
}

/** Resolves with the first value that is not undefined. */
export async function until<T>(find: () => T | undefined): Promise<T> {
  for (;;) {
    const found = find();
    if (found !== undefined) return found;
    await pause(5);
  }
}
