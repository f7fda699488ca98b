import type { EndpointActivityRow } from "../../api/identity-rows.ts";
import type { ExtensionRow } from "../../api/rows.ts";
import { useAppliance, useRows } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { SentenceText } from "../../ui/sentence-text.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";

const READ = 200;
const SHOWN = 20;

/** When a plugin was given up or restarted by hand, and what messages show when it can't be reached. */
export function PluginHistory({ row }: { row: ExtensionRow }) {
  const { t, name } = useTranslation();
  const appliance = useAppliance();
  const activities = useRows<EndpointActivityRow>(
    "extensions/{extensionId}/endpoints/{endpointId}/activities",
    { extensionId: appliance?.extensionId ?? "", endpointId: appliance?.id ?? "" },
    { type: "log-message", sort: "-createdAt", limit: READ },
    { enabled: appliance !== undefined },
  );
  const own = (activities.data?.data ?? []).filter(({ value }) => detailsOf(value).extensionId === row.id);
  return (
    <section className="stack">
      <p className="soft">
        {row.failureCode
          ? t("plugin.failure-code", { activity: name("activity", row.failureCode) })
          : t("plugin.no-failure-code")}
      </p>
      <ErrorLine error={activities.error} />
      {activities.data && own.length === 0 && <p>{t("plugin.history-none")}</p>}
      <ul className="plain">
        {own.slice(0, SHOWN).map((activity) => (
          <li key={activity.id} className="row">
            <Timestamp at={activity.createdAt} />
            {activity.state === "fail" ? (
              <>
                <Chip tone="bad">{t("plugin.stopped")}</Chip>
                <span>
                  <SentenceText
                    text={String(detailsOf(activity.value).reason ?? "")}
                    sentence={activity.reasonSentence}
                  />
                </span>
              </>
            ) : (
              <>
                <Chip tone="">{t("plugin.restarted-by-hand")}</Chip>
                <span>{String(detailsOf(activity.value).userName ?? "")}</span>
              </>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function detailsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
