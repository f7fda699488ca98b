import { type ReactNode, useState } from "react";
import { createPageQueries, PageQueriesContext, usePageQueries, useTrackedQuery } from "../api/page-queries.ts";
import { errorText, isForbidden } from "../i18n/error-text.ts";
import { useTranslation } from "../i18n/use-translation.tsx";
import { ErrorText } from "./error-line.tsx";

/** Keeps account of what its children read. */
export function PageQueriesProvider({ children }: { children: ReactNode }) {
  const [readings] = useState(createPageQueries);
  return <PageQueriesContext.Provider value={readings}>{children}</PageQueriesContext.Provider>;
}

const WAITING = { isLoading: true, error: null, refetch: () => undefined };

/** Placeholder while the code of a page loads. */
export function PageLoading() {
  useTrackedQuery(WAITING);
  return null;
}

/** Above a page: loading state, and errors that no part of the page shows. */
export function PageStatus() {
  const { t } = useTranslation();
  const { isWaiting, unsaid, broken } = usePageQueries();
  const faults = unsaid.filter((error) => !isForbidden(error));
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

/** Below a page: permissions whose lack hides parts of it. */
export function MissingPermissions() {
  const translator = useTranslation();
  const { unsaid } = usePageQueries();
  const texts = textsOf(unsaid.filter(isForbidden), translator);
  if (texts.length < MANY) return <Notes faults={unsaid.filter(isForbidden)} again={null} />;
  return (
    <div className="page-notes fault">
      <p role="alert">{translator.t("page.lacking", { count: texts.length })}</p>
      <details>
        <summary>{translator.t("page.lacking-which")}</summary>
        <ul>
          {texts.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      </details>
    </div>
  );
}

/** From this number of missing permissions on, they are shown as a count with a folded list. */
const MANY = 2;

/** Each only once, however many readings failed alike. */
function textsOf(faults: readonly unknown[], translator: ReturnType<typeof useTranslation>): string[] {
  return [...new Set(faults.map((error) => errorText(error, translator)))];
}

function Notes({ faults, again }: { faults: readonly unknown[]; again: (() => void) | null }) {
  const translator = useTranslation();
  const texts = textsOf(faults, translator);
  if (texts.length === 0) return null;
  return (
    <div className="page-notes">
      <ErrorText again={again}>{texts.join(" ")}</ErrorText>
    </div>
  );
}
