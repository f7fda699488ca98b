import { faultWords } from "../words/fault-words.ts";
import { useWords } from "../words/use-words.tsx";

/** What went wrong, in words, told to screen readers at once; nothing when nothing did. */
export function FaultLine({ error }: { error: unknown }) {
  const words = useWords();
  if (!error) return null;
  return (
    <p className="fault" role="alert">
      {faultWords(error, words)}
    </p>
  );
}
