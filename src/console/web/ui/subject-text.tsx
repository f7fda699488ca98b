import type { SentenceOfApi } from "../i18n/translator.ts";
import { SentenceText } from "./sentence-text.tsx";

export interface WrittenText {
  subject?: string | null;
  subjectSentence?: SentenceOfApi | null;
}

/** Subject of a message; in the language of the account, where the server wrote it. */
export function SubjectText({ row: { subject, subjectSentence } }: { row: WrittenText }) {
  return <SentenceText text={subject ?? ""} sentence={subjectSentence} />;
}

interface WrittenBody {
  body: string | null;
  bodySentences: readonly (SentenceOfApi & { text: string })[] | null;
}

/** Body of a message; in the language of the account, where the server wrote it. */
export function BodyText({ row: { body, bodySentences } }: { row: WrittenBody }) {
  if (!bodySentences) return <>{body}</>;
  return bodySentences.map((line, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the lines of a body stay the same
    <span key={at}>
      {at > 0 && "\n"}
      <SentenceText text={line.text} sentence={line} />
    </span>
  ));
}
