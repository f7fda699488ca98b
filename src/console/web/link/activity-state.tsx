import { Chip } from "../parts/level-chip.tsx";
import { useWords } from "../words/use-words.tsx";

const TONES: Readonly<Record<string, string>> = { success: "good", fail: "bad", pending: "" };

/** How far something got at an appliance; nothing where that is not told. */
export function StateChip({ state }: { state: string | null }) {
  const { name } = useWords();
  return state === null ? null : <Chip tone={TONES[state] ?? ""}>{name("activity-state", state)}</Chip>;
}
