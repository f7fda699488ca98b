import { Button } from "@mantine/core";
import type { ClusterServerRow } from "../../api/rows.ts";
import { useAppliances, useRows } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { ApplianceField } from "../../ui/form/appliances-field.tsx";
import { NEW, RowSheet } from "../../ui/row-sheet.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { useHistorySheet } from "../../ui/use-history-sheet.ts";
import { usePendingRemovalIds } from "../../ui/use-removal.ts";

const ROUTE = "callmgr-clusters/{cucmClusterId}/onprem-servers";

/** The appliances that serve a cluster, and which of them reads its phones. */
export function ClusterServers({ cucmClusterId }: { cucmClusterId: string }) {
  const { t } = useTranslation();
  const { opened: open, open: setOpen, close } = useHistorySheet<string>();
  const gone = usePendingRemovalIds();
  const names = new Map(useAppliances().map(({ id, name }) => [id, name]));
  const found = useRows<ClusterServerRow>(ROUTE, { cucmClusterId }, { limit: 100 });
  const servers = (found.data?.data ?? []).filter(({ id }) => !gone.has(id));
  return (
    <div className="stack">
      <ErrorLine error={found.error} />
      {found.data && servers.length === 0 && <p className="soft">{t("cluster.no-server")}</p>}
      <ul className="plain lined">
        {servers.map((row) => (
          <li key={row.id} className="row">
            <button type="button" className="open" onClick={() => setOpen(row.id)}>
              {names.get(row.endpointId) ?? "–"}
            </button>
            <span className="soft">{row.cmAddress}</span>
            {row.isPhoneGatherer && <Chip tone="good">{t("cluster.gatherer")}</Chip>}
          </li>
        ))}
      </ul>
      <div>
        <Button variant="default" onClick={() => setOpen(NEW)}>
          {t("cluster.add-server")}
        </Button>
      </div>
      {open && <ServerSheet key={open} {...{ cucmClusterId, id: open }} onClose={close} />}
    </div>
  );
}

function ServerSheet({ cucmClusterId, id, onClose }: { cucmClusterId: string; id: string; onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <RowSheet
      id={id}
      item={`${ROUTE}/{onpremServerId}`}
      within={{ cucmClusterId }}
      newTitle={t("cluster.add-server")}
      titleField="cmAddress"
      onClose={onClose}
      fields={[
        {
          name: "endpointId",
          kind: "own",
          draw: ({ values, change, error }) => (
            <ApplianceField
              name="endpointId"
              label={t("field.endpointIds")}
              value={values.endpointId}
              error={error}
              onChange={(endpointId) => change({ endpointId })}
            />
          ),
        },
        { name: "cmAddress" },
        { name: "cmUsername" },
        { name: "cmPassword" },
      ]}
    />
  );
}
