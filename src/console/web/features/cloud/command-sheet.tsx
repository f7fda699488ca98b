import type { EndpointActivityRow } from "../../api/identity-rows.ts";
import { useRow } from "../../api/use-rows.ts";
import { useWords } from "../../i18n/use-translation.tsx";
import { FaultLine } from "../../ui/error-line.tsx";
import { SideSheet } from "../../ui/side-sheet.tsx";
import { Moment } from "../../ui/timestamp.tsx";
import { StateChip } from "./command-state.tsx";

interface ActivitySheetProps {
  params: { extensionId: string; endpointId: string };
  id: string;
  onClose(): void;
}

/** One activity of an appliance with all that it says. */
export function ActivitySheet({ params, id, onClose }: ActivitySheetProps) {
  const { t, name } = useWords();
  const found = useRow<EndpointActivityRow>("extensions/{extensionId}/endpoints/{endpointId}/activities/{activityId}", {
    ...params,
    activityId: id,
  });
  const row = found.data?.id === id ? found.data : undefined;
  const value = Object.entries((row?.value ?? {}) as Record<string, unknown>);
  return (
    <SideSheet title={row ? name("log-type", row.type) : ""} onClose={onClose}>
      <FaultLine error={found.error} />
      {row && (
        <div className="stack">
          <div className="row">
            <StateChip state={row.state} />
            <span>{name("severity", row.severity)}</span>
            <Moment at={row.createdAt} />
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
                <dd>{typeof each === "object" ? JSON.stringify(each) : String(each)}</dd>
              </div>
            ))}
          </dl>
        </div>
      )}
    </SideSheet>
  );
}
