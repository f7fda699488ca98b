import { useRow } from "../../api/use-rows.ts";
import type { SentenceOfApi } from "../../i18n/translator.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { SentenceText } from "../../ui/sentence-text.tsx";
import { LicenceDocument } from "./licence-document.tsx";

/** What the licence of the appliance covers, as the API tells it. */
interface LicenceAnswer {
  edition: "community" | "licensed";
  id: string | null;
  holder: string | null;
  expiresAt: string | null;
  counts: { kind: "users" | "phones" | "speakers" | "idns" | "plugins"; used: number; limit: number | null }[];
  violationSentences: (SentenceOfApi & { text: string })[];
}

/** Licence holder and usage. */
export function LicenceCounts() {
  const { t } = useTranslation();
  const { data, error } = useRow<LicenceAnswer>("licence");
  if (!data) return <ErrorLine error={error} />;
  const { edition, id, holder, expiresAt, counts, violationSentences: violations } = data;
  const until = expiresAt === null ? "" : t("licence.until", { day: expiresAt.slice(0, 10) });
  return (
    <>
      <p>
        {edition === "community" ? t("licence.community") : t("licence.of", { id: id ?? "", holder: holder ?? "" })}
        {until}
      </p>
      <ul className="plain">
        {counts.map(({ kind, used, limit }) => (
          <li key={kind}>
            {t(`licence.kind.${kind}`)}:{" "}
            {limit === null ? t("licence.used", { used }) : t("licence.used-of", { used, limit })}
          </li>
        ))}
      </ul>
      <ul className="plain" aria-live="polite">
        {violations.map((each) => (
          <li key={each.text}>
            <SentenceText text={each.text} sentence={each} />
          </li>
        ))}
      </ul>
      {violations.length > 0 && <p className="soft">{t("licence.never-stops")}</p>}
      <LicenceDocument isThere={edition === "licensed"} />
    </>
  );
}
