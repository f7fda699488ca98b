import { type ReactNode, useState } from "react";
import { createReadings, ReadingsContext, useReading, useReadings } from "../api/page-queries.ts";
import { faultWords, isLacking } from "../i18n/error-text.ts";
import { useWords } from "../i18n/use-translation.tsx";
import { FaultText } from "./error-line.tsx";

/** Keeps account of what its children read. */
export function WithReadings({ children }: { children: ReactNode }) {
  const [readings] = useState(createReadings);
  return <ReadingsContext.Provider value={readings}>{children}</ReadingsContext.Provider>;
}

const WAITING = { isLoading: true, error: null, refetch: () => undefined };

/** Stands for a page whose code is on its way. */
export function PageToCome() {
  useReading(WAITING);
  return null;
}

/** Above a page: that something of it is being read, and what could not be read where no part of the page says so. */
export function PageNotes() {
  const { t } = useWords();
  const { isWaiting, unsaid, broken } = useReadings();
  const faults = unsaid.filter((error) => !isLacking(error));
  const again = () => {
    for (const each of broken) if (faults.includes(each.error)) each.again();
  };
  return (
    <>
      <p role="status" className="reading">
        {isWaiting && <span>{t("page.reading")}</span>}
      </p>
      <Notes faults={faults} again={again} />
    </>
  );
}

/** Below a page: what is left out of it since its reader lacks the right. */
export function PageRights() {
  const words = useWords();
  const { unsaid } = useReadings();
  const texts = textsOf(unsaid.filter(isLacking), words);
  if (texts.length < MANY) return <Notes faults={unsaid.filter(isLacking)} again={null} />;
  return (
    <div className="page-notes fault">
      <p role="alert">{words.t("page.lacking", { n: texts.length })}</p>
      <details>
        <summary>{words.t("page.lacking-which")}</summary>
        <ul>
          {texts.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      </details>
    </div>
  );
}

/** From here on rights are gathered, as nobody reads that many sentences. */
const MANY = 2;

/** Each only once, however many readings failed alike. */
function textsOf(faults: readonly unknown[], words: ReturnType<typeof useWords>): string[] {
  return [...new Set(faults.map((error) => faultWords(error, words)))];
}

function Notes({ faults, again }: { faults: readonly unknown[]; again: (() => void) | null }) {
  const words = useWords();
  const texts = textsOf(faults, words);
  if (texts.length === 0) return null;
  return (
    <div className="page-notes">
      <FaultText again={again}>{texts.join(" ")}</FaultText>
    </div>
  );
}
