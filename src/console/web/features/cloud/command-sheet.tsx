import type { EndpointActivityRow } from "../../api/identity-rows.ts";
import { useRow } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { SentenceText } from "../../ui/sentence-text.tsx";
import { SideSheet } from "../../ui/side-sheet.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import { CommandStateChip } from "./command-state.tsx";

interface CommandSheetProps {
  params: { extensionId: string; endpointId: string };
  id: string;
  onClose(): void;
}

/** One command or activity of an appliance in full. */
export function CommandSheet({ params, id, onClose }: CommandSheetProps) {
  const { t, name } = useTranslation();
  const found = useRow<EndpointActivityRow>("extensions/{extensionId}/endpoints/{endpointId}/activities/{activityId}", {
    ...params,
    activityId: id,
  });
  const row = found.data?.id === id ? found.data : undefined;
  const value = Object.entries((row?.value ?? {}) as Record<string, unknown>);
  return (
    <SideSheet title={row ? name("log-type", row.type) : ""} onClose={onClose}>
      <ErrorLine error={found.error} />
      {row && (
        <div className="stack">
          <div className="row">
            <CommandStateChip state={row.state} />
            <span>{name("severity", row.severity)}</span>
            <Timestamp at={row.createdAt} />
          </div>
          <dl className="facts">
            {row.referenceId && (
              <>
                <dt>{t("log.about")}</dt>
                <dd>
                  {row.referenceType && name("reference", row.referenceType)} <small>{row.referenceId}</small>
                </dd>
              </>
            )}
            {value.map(([key, each]) => (
              <div key={key} className="fact">
                <dt>{key}</dt>
                <dd>
                  {typeof each === "object" ? (
                    JSON.stringify(each)
                  ) : (
                    <SentenceText text={String(each)} sentence={key === "reason" ? row.reasonSentence : null} />
                  )}
                </dd>
              </div>
            ))}
          </dl>
        </div>
      )}
    </SideSheet>
  );
}
