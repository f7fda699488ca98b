import type { Detection } from "../../src/speaker-agent/matched-filter.ts";

/**
 * The rule of earlier agents, planted as a bug: heard once half a second is 6 dB louder than the first half second, which
 * a loud class is, too.
 */
export function detectByLevel(recorded: Int16Array): Detection | null {
  const window = 4_000;
  const levelAt = (at: number): number => {
    let sum = 0;
    for (const sample of recorded.subarray(at, at + window)) sum += sample * sample;
    return Math.sqrt(sum / window);
  };
  const floor = levelAt(0);
  for (let at = window; at + window <= recorded.length; at += window)
    if (levelAt(at) > Math.max(50, 2 * floor)) return { pValue: 0, delayMs: 0, levelDb: 0 };
  return null;
}
