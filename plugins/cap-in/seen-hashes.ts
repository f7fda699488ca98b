import type { PluginContext } from "#plugin-api";

/** Remembered documents; more than a feed contains. */
const MAX_SEEN = 2_000;

/** Persistent set of the latest hashes. */
export function createSeenHashes(key: string, state: PluginContext["state"]) {
  let hashes: string[] | null = null;
  const read = async (): Promise<string[]> => {
    hashes ??= ((await state.get(key)) ?? []) as string[];
    return hashes;
  };
  return {
    all: async (): Promise<Set<string>> => new Set(await read()),
    async add(more: readonly string[]): Promise<void> {
      const before = new Set(await read());
      const unknown = more.filter((hash) => !before.has(hash));
      if (unknown.length === 0) return;
      hashes = [...before, ...unknown].slice(-MAX_SEEN);
      await state.set(key, hashes);
    },
  };
}
