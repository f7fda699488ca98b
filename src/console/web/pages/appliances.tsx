import type { ApplianceRow } from "../api/link-rows.ts";
import { useRow } from "../api/use-rows.ts";
import { ApplianceSheet } from "../link/appliance-sheet.tsx";
import { HealthChip, LinkChip } from "../link/appliance-state.tsx";
import { EnrolmentCodes } from "../link/enrolment-codes.tsx";
import { useTableSearch } from "../list/use-table-search.ts";
import { FaultLine } from "../parts/fault-line.tsx";
import { Chip } from "../parts/level-chip.tsx";
import { Moment } from "../parts/moment.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { useWords } from "../words/use-words.tsx";
import "../parts/lines.css";

/** Nothing tells of comings and goings. own choice */
const READ_EVERY_MS = 5_000;

/** At the cloud: its appliances, how each is, and who may join. */
export default function AppliancesPage() {
  const { t } = useWords();
  const [{ open }, show] = useTableSearch();
  const found = useRow<{ appliances: readonly ApplianceRow[] }>(
    "link/appliances",
    {},
    {},
    { refetchInterval: READ_EVERY_MS },
  );
  const appliances = found.data?.appliances ?? [];
  const opened = appliances.find(({ endpointId }) => endpointId === open);
  return (
    <div className="page">
      <Tabs of="system" />
      <h1>{t("appliances.title")}</h1>
      <FaultLine error={found.error} />
      {found.data && appliances.length === 0 && <p>{t("appliances.none")}</p>}
      <ul className="plain lined" aria-live="polite" aria-label={t("appliances.title")}>
        {appliances.map((row) => (
          <li key={row.endpointId} className="row">
            <button type="button" className="open" onClick={() => show({ open: row.endpointId })}>
              {row.name ?? row.endpointId}
            </button>
            <LinkChip link={row.link} />
            <HealthChip health={row.health} />
            {row.alarms.length > 0 && <Chip tone="bad">{`${t("appliances.alarms")}: ${row.alarms.length}`}</Chip>}
            <span className="grow soft">
              {row.version ?? "–"} · {t("appliances.heard")} <Moment at={row.heardAt} />
              {row.rowsBehind !== null && row.rowsBehind > 0 && (
                <>
                  {" "}
                  · {t("appliances.behind")} {t("appliances.behind-rows", { n: row.rowsBehind })}
                </>
              )}
            </span>
          </li>
        ))}
      </ul>
      {found.data && <EnrolmentCodes appliances={appliances} />}
      {opened && <ApplianceSheet row={opened} onClose={() => show({ open: undefined })} />}
    </div>
  );
}
