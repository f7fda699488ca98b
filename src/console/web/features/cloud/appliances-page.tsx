import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import type { ApplianceOverview } from "../../api/link-rows.ts";
import { useCloudLink, useRow } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { useTableSearch } from "../../ui/list/use-table-search.ts";
import { SectionTabs } from "../../ui/section-tabs.tsx";
import { attentionLevelOf, byAttention } from "./appliance-attention.ts";
import { ApplianceList, type RatedAppliance } from "./appliance-list.tsx";
import { ApplianceMap } from "./appliance-map.tsx";
import { ApplianceSheet } from "./appliance-sheet.tsx";
import { BulkCommands } from "./bulk-commands.tsx";
import { EnrolmentCodes } from "./enrolment-codes.tsx";
import { Upgrades } from "./upgrades.tsx";
import "../../ui/lines.css";
import { PageTitle } from "../../ui/page-title.tsx";

/** The feed does not report appliances that connect or disconnect. */
const POLL_INTERVAL_MS = 5_000;

/** In the cloud: appliances, their map, state, commands and enrolment codes. */
export default function AppliancesPage() {
  const { t } = useTranslation();
  const link = useCloudLink();
  return (
    <div className="page">
      <SectionTabs of="system" />
      <PageTitle>{t("appliances.title")}</PageTitle>
      {link?.role === "hub" && <Appliances />}
      {link?.role === "appliance" && (
        <p>
          {t("appliances.at-cloud")} <Link to="/cloud">{t("cloud.title")}</Link>
        </p>
      )}
    </div>
  );
}

function Appliances() {
  const { t } = useTranslation();
  const { clock } = useConsole();
  const [{ open }, show] = useTableSearch();
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set());
  const [siteId, setSiteId] = useState<string | null>(null);
  const found = useRow<ApplianceOverview>("link/appliances", {}, {}, { refetchInterval: POLL_INTERVAL_MS });
  const rows = useMemo<RatedAppliance[]>(() => {
    const { appliances = [], offeredVersion = null } = found.data ?? {};
    return byAttention(
      appliances.map((row) => ({ ...row, attention: attentionLevelOf(row, offeredVersion, clock.now()) })),
    );
  }, [found.data, clock]);
  const here = rows.filter(({ site }) => siteId === null || site?.siteId === siteId);
  // Selected appliances may be deleted or at another site by now; the order of selection is the order of the rollout.
  const isHere = new Set(here.map(({ endpointId }) => endpointId));
  const chosen = new Set([...ticked].filter((endpointId) => isHere.has(endpointId)));
  const opened = rows.find(({ endpointId }) => endpointId === open);
  const openOne = (endpointId: string) => show({ open: endpointId });
  const select = (id: string) => {
    const [only, ...others] = rows.filter(({ site }) => site?.siteId === id);
    if (only && others.length === 0) openOne(only.endpointId);
    else setSiteId(id);
  };
  return (
    <>
      <ErrorLine error={found.error} />
      {found.data && rows.length === 0 && <p>{t("appliances.none")}</p>}
      {rows.length > 0 && (
        <>
          <ApplianceMap rows={rows} onSelect={select} />
          {siteId !== null && (
            <div className="row">
              <span>{t("appliances.at", { name: here[0]?.site?.name ?? "" })}</span>
              <Button variant="default" size="compact-sm" onClick={() => setSiteId(null)}>
                {t("appliances.everywhere")}
              </Button>
            </div>
          )}
          <ApplianceList rows={here} chosen={chosen} onChoose={setTicked} onOpen={openOne} />
          <BulkCommands chosen={chosen} onGiven={() => setTicked(new Set())} />
          <Upgrades version={found.data?.offeredVersion ?? null} chosen={chosen} />
        </>
      )}
      {found.data && <EnrolmentCodes appliances={rows} />}
      {opened && <ApplianceSheet row={opened} onClose={() => show({ open: undefined })} />}
    </>
  );
}
