import { Button } from "@mantine/core";
import type { ExtensionRow } from "../../api/rows.ts";
import { useAppliance, useRows } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { HealthCard } from "../../ui/health-card.tsx";
import { useTableSearch } from "../../ui/list/use-table-search.ts";
import { SectionTabs } from "../../ui/section-tabs.tsx";
import { SideSheet } from "../../ui/side-sheet.tsx";
import { PluginSheet, PluginState, RestartButton } from "../plugins/plugin-sheet.tsx";
import { LicenceCounts } from "./licence-counts.tsx";
import { LicenceFilters } from "./licence-filters.tsx";
import "../../ui/lines.css";
import "./system.css";
import { PageTitle } from "../../ui/page-title.tsx";

/** The address part that stands for the licences. */
const LICENCES = "licences";

/** Is the box safe: health with its reasons, and what extends it. */
export default function SystemPage() {
  const { t } = useTranslation();
  const [{ open }, showPart] = useTableSearch();
  const extensions = useRows<ExtensionRow>("extensions", {}, { limit: 100 });
  const plugins = extensions.data?.data.filter(({ status }) => status !== null) ?? [];
  const show = (id: string | undefined) => showPart({ open: id });
  const opened = plugins.find(({ id }) => id === open);
  return (
    <div className="page">
      <SectionTabs of="system" />
      <PageTitle>{t("nav.system")}</PageTitle>
      <HealthSection />
      <section className="card">
        <h2>{t("system.extensions")}</h2>
        <ErrorLine error={extensions.error} />
        <ul className="plain">
          {plugins.map((row) => (
            <li key={row.id} className="plugin">
              <button type="button" className="tile" onClick={() => show(row.id)}>
                {row.name}
                <small>{t("system.plugin-parts")}</small>
              </button>
              <div className="row">
                <PluginState row={row} />
              </div>
              <RestartButton row={row} />
            </li>
          ))}
        </ul>
      </section>
      <section className="card">
        <h2>{t("licence.title")}</h2>
        <LicenceCounts />
        <p className="soft">{t("licence.intro")}</p>
        <div>
          <Button variant="default" onClick={() => show(LICENCES)}>
            {t("licence.open")}
          </Button>
        </div>
      </section>
      {open === LICENCES && (
        <SideSheet title={t("licence.title")} onClose={() => show(undefined)}>
          <LicenceFilters />
        </SideSheet>
      )}
      {opened && <PluginSheet row={opened} onClose={() => show(undefined)} />}
    </div>
  );
}

function HealthSection() {
  const { t } = useTranslation();
  const appliance = useAppliance();
  return (
    <HealthCard>
      {appliance && (
        <p className="soft">
          {t("system.build", { name: appliance.name ?? "–", version: appliance.buildInfo?.version ?? "–" })}
        </p>
      )}
    </HealthCard>
  );
}
