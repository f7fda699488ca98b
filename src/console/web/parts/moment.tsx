import { useNow } from "../console-context.tsx";
import { fullMomentText, momentText } from "../words/format.ts";
import { useWords } from "../words/use-words.tsx";

/** A moment in words, in full with its zone on hover; a dash for none. */
export function Moment({ at }: { at: string | null }) {
  const now = useNow();
  const { language } = useWords();
  if (!at) return <span>–</span>;
  const ms = Date.parse(at);
  return (
    <time dateTime={at} title={fullMomentText(ms, language)}>
      {momentText(ms, now, language)}
    </time>
  );
}
