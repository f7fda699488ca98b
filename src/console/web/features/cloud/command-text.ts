import type { SentenceOfApi, Translator } from "../../i18n/translator.ts";
/** Result of a command as text: error, file or number of rows. */
export function commandResultText(
  { value, reasonSentence }: { value?: unknown; reasonSentence?: SentenceOfApi | null | undefined },
  { say }: Pick<Translator, "say">,
): string {
  const { reason, error, message, file, bytes, ...rest } = (value ?? {}) as Record<string, unknown>;
  const said = reason ?? error ?? message;
  if (typeof said === "string") return say(said, reason === undefined ? null : reasonSentence);
  if (typeof file === "string") return typeof bytes === "number" ? `${file}, ${sizeInMib(bytes)}` : file;
  const counts = Object.entries(rest).filter(([, count]) => typeof count === "number");
  return counts.map(([name, count]) => `${name} ${count}`).join(", ");
}

const MIB = 1_048_576;

/** A size as text. */
export function sizeInMib(bytes: number): string {
  return `${(bytes / MIB).toFixed(1)} MiB`;
}
