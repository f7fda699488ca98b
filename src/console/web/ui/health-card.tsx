import type { ReactNode } from "react";
import { useAppliance } from "../api/use-rows.ts";
import { HealthLink } from "../frame/top-bar.tsx";
import { useTranslation } from "../i18n/use-translation.tsx";
import { SentenceText } from "./sentence-text.tsx";

/** Health with its reasons, and content of the page below. */
export function HealthCard({ children }: { children?: ReactNode }) {
  const { t } = useTranslation();
  const appliance = useAppliance();
  const reasons = appliance?.reasonSentences ?? [];
  return (
    <section className="card">
      <h2>{t("dashboard.health")}</h2>
      <div>
        <HealthLink />
      </div>
      {appliance && reasons.length === 0 && <p className="soft">{t("health.fine")}</p>}
      <ul className="plain">
        {reasons.map((reason) => (
          <li key={reason.text}>
            <SentenceText text={reason.text} sentence={reason} />
          </li>
        ))}
      </ul>
      {children}
    </section>
  );
}
