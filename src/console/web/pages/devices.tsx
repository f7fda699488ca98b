import { Select } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { DEVICE_TYPES } from "../../../resources/devices/device-types.ts";
import type { DeviceRow } from "../api/rows.ts";
import { useRows } from "../api/use-rows.ts";
import { Chip } from "../parts/level-chip.tsx";
import { SearchField } from "../parts/search-field.tsx";
import { type Column, ServerTable } from "../parts/server-table.tsx";
import { SideSheet } from "../parts/side-sheet.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { useTableSearch } from "../parts/use-table-search.ts";
import { useWords } from "../words/use-words.tsx";

/** Which devices there are. */
export default function DevicesPage() {
  const { t, name } = useWords();
  const [{ q, type, sort, open }, show] = useTableSearch();
  const columns: Column<DeviceRow>[] = [
    {
      id: "description",
      head: t("field.description"),
      width: "1.5fr",
      sort: "description",
      cell: (row) => (
        <button type="button" className="open" onClick={() => show({ open: row.id })}>
          {row.description}
        </button>
      ),
    },
    {
      id: "identifier",
      head: t("field.deviceIdentifier"),
      width: "1.5fr",
      sort: "deviceIdentifier",
      cell: (row) => row.deviceIdentifier,
    },
    { id: "type", head: t("field.type"), width: "8rem", sort: "type", cell: (row) => name("type", row.type) },
    { id: "address", head: t("devices.address"), width: "1fr", cell: addressOf },
    { id: "state", head: t("field.status"), width: "10rem", cell: (row) => <DeviceState row={row} /> },
  ];
  return (
    <div className="page full">
      <Tabs of="devices" />
      <div className="head">
        <h1>{t("devices.title")}</h1>
        <span className="space" />
        <Link to="/welcome">{t("devices.add")}</Link>
      </div>
      <div className="row">
        <SearchField value={q ?? ""} onSearch={(text) => show({ q: text })} />
        <Select
          aria-label={t("field.type")}
          placeholder={t("devices.all-types")}
          clearable
          data={DEVICE_TYPES.map((each) => ({ value: each, label: name("type", each) }))}
          value={type ?? null}
          onChange={(next) => show({ type: next ?? undefined })}
        />
      </div>
      <ServerTable<DeviceRow>
        label={t("devices.title")}
        route="devices"
        query={{ q, type }}
        columns={columns}
        sort={sort ?? "description"}
        onSort={(next) => show({ sort: next })}
        empty={
          <p>
            {t("devices.none")} <Link to="/welcome">{t("devices.add")}</Link>
          </p>
        }
      />
      {open && <DeviceSheet id={open} onClose={() => show({ open: undefined })} />}
    </div>
  );
}

function addressOf({ attributes }: DeviceRow): string {
  return attributes.IPAddress ?? [attributes.Group, attributes.Port].filter(Boolean).join(":");
}

function DeviceState({ row }: { row: DeviceRow }) {
  const { t } = useWords();
  if (row.defunct) return <Chip tone="warn">{t("devices.defunct")}</Chip>;
  return row.isLicensed ? (
    <Chip tone="good">{t("devices.in-use")}</Chip>
  ) : (
    <Chip tone="bad">{t("devices.unlicensed")}</Chip>
  );
}

function DeviceSheet({ id, onClose }: { id: string; onClose: () => void }) {
  const { t, name } = useWords();
  const row = useRows<DeviceRow>("devices", {}, { ids: [id] }).data?.data.find((each) => each.id === id);
  if (!row) return null;
  return (
    <SideSheet title={row.description} onClose={onClose}>
      <div className="stack">
        <div>
          <DeviceState row={row} />
        </div>
        <dl className="facts">
          <dt>{t("field.type")}</dt>
          <dd>{name("type", row.type)}</dd>
          <dt>{t("field.deviceIdentifier")}</dt>
          <dd>{row.deviceIdentifier}</dd>
        </dl>
        <h2>{t("devices.attributes")}</h2>
        <dl className="facts">
          {Object.entries(row.attributes).map(([key, value]) => (
            <Attribute key={key} name={key} value={value} />
          ))}
        </dl>
      </div>
    </SideSheet>
  );
}

function Attribute({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd style={{ overflowWrap: "anywhere" }}>{value}</dd>
    </>
  );
}
