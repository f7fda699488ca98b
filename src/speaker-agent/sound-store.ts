import { createHash } from "node:crypto";
import { CallerError } from "../lib/errors.ts";
import type { PlannedOfflineRing } from "./ring-plan.ts";
import type { StateFolder } from "./state-folder.ts";

/** The sounds of a plan, by their hashes. */
export interface SoundStore {
  /**
   * Fetches what is not here, going on where an earlier call was cut off, and removes what no ring needs. Rejects with
   * CallerError for one that is not what its hash says, and with what fetching says.
   */
  synchronize(rings: readonly PlannedOfflineRing[]): Promise<void>;
  /** Null for one that is not here, or was changed. */
  read(sha256: string): Promise<Uint8Array | null>;
}

const COMPLETE_FILE = /^sound-([0-9a-f]{64})$/;
const PARTIAL_FILE = /^part-([0-9a-f]{64})$/;
/** All sounds together; those of the latest rings are left out. own choice */
const MAX_BYTES = 64 * 1_048_576;

/** Keeps them in the state folder; `piece` fetches some bytes of one from a byte on, none at its end. */
export function openSoundStore(
  state: StateFolder,
  piece: (sha256: string, from: number) => Promise<Uint8Array>,
): SoundStore {
  const downloadSound = async (sha256: string, bytes: number): Promise<void> => {
    let got: Uint8Array = (await state.read(`part-${sha256}`)) ?? new Uint8Array();
    while (got.length < bytes) {
      const more = await piece(sha256, got.length);
      if (more.length === 0) break;
      got = Buffer.concat([got, more]);
      if (got.length < bytes) await state.write(`part-${sha256}`, got);
    }
    await state.remove(`part-${sha256}`);
    if (sha256Of(got) !== sha256)
      throw new CallerError("invalid-value", `The sound ${sha256} is not what it should be.`);
    await state.write(`sound-${sha256}`, got);
  };
  return {
    async synchronize(rings) {
      const needed = soundsWithinLimit(rings);
      const here = new Set<string>();
      for (const name of await state.list()) {
        const sha256 = (COMPLETE_FILE.exec(name) ?? PARTIAL_FILE.exec(name))?.[1];
        if (sha256 === undefined) continue;
        if (!needed.has(sha256)) await state.remove(name);
        else if (COMPLETE_FILE.test(name)) here.add(sha256);
      }
      for (const [sha256, bytes] of needed) if (!here.has(sha256)) await downloadSound(sha256, bytes);
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
