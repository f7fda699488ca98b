import { useTranslation } from "../../i18n/use-translation.tsx";
import { Chip } from "../../ui/status-chip.tsx";

const TONES: Readonly<Record<string, string>> = { success: "good", fail: "bad", pending: "" };

/** State of a command; nothing if it has none. */
export function CommandStateChip({ state }: { state: string | null }) {
  const { name } = useTranslation();
  return state === null ? null : <Chip tone={TONES[state] ?? ""}>{name("activity-state", state)}</Chip>;
}
