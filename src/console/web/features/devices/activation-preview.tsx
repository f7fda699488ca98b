import type { Activation } from "../../api/rows.ts";
import { useRow } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { SentenceText } from "../../ui/sentence-text.tsx";
import { Chip } from "../../ui/status-chip.tsx";

/** Which appliance would call a device now, why, and which were tried before it. */
export function ActivationPreview({ deviceId }: { deviceId: string }) {
  const { t } = useTranslation();
  const found = useRow<Activation>("devices/{deviceId}/activation", { deviceId });
  const { endpointId, endpointName, reason, reasonSentence, candidates = [] } = found.data ?? {};
  return (
    <div className="stack" aria-live="polite">
      <ErrorLine error={found.error} />
      {found.data && (
        <p>
          <strong>{endpointId ? (endpointName ?? "–") : t("activation.no-appliance")}</strong>{" "}
          <span className="soft">{reason && <SentenceText text={reason} sentence={reasonSentence} />}</span>
        </p>
      )}
      {candidates.length > 1 && (
        <>
          <p className="soft">{t("activation.tried")}</p>
          <ol>
            {candidates.map((each) => (
              <li key={each.endpointId}>
                {each.endpointName ?? "–"} {!each.reachable && <Chip tone="warn">{t("activation.unreachable")}</Chip>}
              </li>
            ))}
          </ol>
        </>
      )}
    </div>
  );
}
