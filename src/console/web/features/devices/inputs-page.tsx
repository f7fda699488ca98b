import { Link } from "@tanstack/react-router";
import type { ApiDeviceRow } from "../../api/place-rows.ts";
import { useRow } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ListPage } from "../../ui/list/list-page.tsx";
import { NEW, RowSheet } from "../../ui/row-sheet.tsx";

/** Panic buttons and external systems that start scenarios, and their locations. */
export default function InputsPage() {
  const { t } = useTranslation();
  return (
    <ListPage<ApiDeviceRow>
      tabs="devices"
      title={t("inputs.title")}
      add={t("inputs.add")}
      none={t("inputs.none")}
      route="api-devices"
      opener={{ width: "1.5fr" }}
      columns={[
        { id: "place", head: t("inputs.place"), width: "2fr", cell: placeOf },
        {
          id: "externalId",
          head: t("field.deviceIdentifier"),
          width: "1fr",
          sort: "externalId",
          named: true,
          cell: (row) => row.externalId,
        },
      ]}
      sheet={(id, onClose) => <InputSheet key={id} apiDeviceId={id} onClose={onClose} />}
    />
  );
}

function placeOf({ site, building, floor, zone }: ApiDeviceRow): string {
  return [site, building, floor, zone].flatMap((each) => each?.name ?? []).join(" › ");
}

function InputSheet({ apiDeviceId, onClose }: { apiDeviceId: string; onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <RowSheet
      id={apiDeviceId}
      item="api-devices/{apiDeviceId}"
      newTitle={t("inputs.add")}
      onClose={onClose}
      fields={[
        { name: "name" },
        { name: "externalId", hint: t("inputs.id-hint") },
        { name: "siteId", kind: "row", from: "sites" },
        { name: "buildingId", kind: "row", from: "sites/{siteId}/buildings", within: ["siteId"] },
        {
          name: "floorId",
          kind: "row",
          from: "sites/{siteId}/buildings/{buildingId}/floors",
          within: ["siteId", "buildingId"],
        },
        {
          name: "zoneId",
          kind: "row",
          from: "sites/{siteId}/buildings/{buildingId}/floors/{floorId}/zones",
          within: ["siteId", "buildingId", "floorId"],
        },
      ]}
    >
      {apiDeviceId !== NEW && <OnPlan apiDeviceId={apiDeviceId} />}
    </RowSheet>
  );
}

function OnPlan({ apiDeviceId }: { apiDeviceId: string }) {
  const { t } = useTranslation();
  const { data: row } = useRow<ApiDeviceRow>("api-devices/{apiDeviceId}", { apiDeviceId });
  if (!row?.floorId) return null;
  return (
    <p>
      <Link to="/places" search={{ open: [row.siteId, row.buildingId, row.floorId].join("/") }}>
        {t("inputs.on-plan")}
      </Link>
    </p>
  );
}
