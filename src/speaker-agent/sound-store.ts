import { createHash } from "node:crypto";
import { CallerError } from "../lib/errors.ts";
import type { PlannedOfflineRing } from "./ring-plan.ts";
import type { StateFolder } from "./state-folder.ts";

/** Stored sounds by SHA-256. */
export interface SoundStore {
  /**
   * Downloads missing sounds, resuming interrupted downloads, and deletes unused ones. Rejects with CallerError if a
   * sound does not match its hash, and with the errors of the download.
   */
  synchronize(rings: readonly PlannedOfflineRing[]): Promise<void>;
  /** Null if missing or damaged. */
  read(sha256: string): Promise<Uint8Array | null>;
}

const COMPLETE_FILE = /^sound-([0-9a-f]{64})$/;
const PARTIAL_FILE = /^part-([0-9a-f]{64})$/;
/** Total size limit; sounds of the latest rings are left out. */
const MAX_BYTES = 64 * 1_048_576;

/** Opens the store in the state folder; `piece` downloads bytes of a sound from an offset, none at its end. */
export function openSoundStore(
  state: StateFolder,
  download: (sha256: string, from: number) => Promise<Uint8Array>,
): SoundStore {
  const downloadSound = async (sha256: string, bytes: number): Promise<void> => {
    let bytesSoFar: Uint8Array = (await state.read(`part-${sha256}`)) ?? new Uint8Array();
    while (bytesSoFar.length < bytes) {
      const more = await download(sha256, bytesSoFar.length);
      if (more.length === 0) break;
      bytesSoFar = Buffer.concat([bytesSoFar, more]);
      if (bytesSoFar.length < bytes) await state.write(`part-${sha256}`, bytesSoFar);
    }
    await state.remove(`part-${sha256}`);
    if (sha256Of(bytesSoFar) !== sha256)
      throw new CallerError("invalid-value", `Sound ${sha256} does not match its hash.`);
    await state.write(`sound-${sha256}`, bytesSoFar);
  };
  return {
    async synchronize(rings) {
      const needed = soundsWithinLimit(rings);
      const present = new Set<string>();
      for (const name of await state.list()) {
        const sha256 = (COMPLETE_FILE.exec(name) ?? PARTIAL_FILE.exec(name))?.[1];
        if (sha256 === undefined) continue;
        if (!needed.has(sha256)) await state.remove(name);
        else if (COMPLETE_FILE.test(name)) present.add(sha256);
      }
      for (const [sha256, bytes] of needed) if (!present.has(sha256)) await downloadSound(sha256, bytes);
    },
    async read(sha256) {
      const bytes = await state.read(`sound-${sha256}`);
      return bytes && sha256Of(bytes) === sha256 ? bytes : null;
    },
  };
}

function soundsWithinLimit(rings: readonly PlannedOfflineRing[]): Map<string, number> {
  const fit = new Map<string, number>();
  let bytes = 0;
  for (const { sound } of rings) {
    if (fit.has(sound.sha256) || bytes + sound.bytes > MAX_BYTES) continue;
    fit.set(sound.sha256, sound.bytes);
    bytes += sound.bytes;
  }
  return fit;
}

function sha256Of(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
