import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { DEVICE_TYPES } from "../../../../resources/devices/device-types.ts";
import type { DeviceRow } from "../../api/rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ListPage } from "../../ui/list/list-page.tsx";
import { OutcomeChip } from "../../ui/outcome-chip.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import { StartLatencyTable } from "../dashboard/start-latency.tsx";
import { DeviceSheet, deviceAddress } from "./device-sheet.tsx";
import { DeviceStateChip, DISPLAYED_DEVICE_STATES } from "./device-state.tsx";
import { DeviceStates } from "./device-states.tsx";

/** Devices with their state and last verification. */
export default function DevicesPage() {
  const { t, name } = useTranslation();
  return (
    <ListPage<DeviceRow>
      tabs="devices"
      title={t("devices.title")}
      add={
        <Button component={Link} to="/welcome">
          {t("devices.add")}
        </Button>
      }
      none={t("devices.first")}
      route="devices"
      sort="description"
      filters={[
        {
          name: "state",
          label: t("field.status"),
          choices: DISPLAYED_DEVICE_STATES.map((value) => ({
            value,
            label: name("device-state", value),
            ...(value === "untried" ? { asks: "" } : {}),
          })),
        },
        {
          name: "type",
          label: t("field.type"),
          choices: DEVICE_TYPES.map((value) => ({ value, label: name("type", value) })),
        },
      ]}
      opener={{ head: t("field.description"), width: "1.5fr", sort: "description", text: (row) => row.description }}
      columns={[
        {
          id: "identifier",
          head: t("field.deviceIdentifier"),
          width: "1.2fr",
          sort: "deviceIdentifier",
          cell: (row) => row.deviceIdentifier,
        },
        { id: "type", head: t("field.type"), width: "8rem", sort: "type", cell: (row) => name("type", row.type) },
        { id: "address", head: t("devices.address"), width: "1fr", cell: deviceAddress },
        { id: "proof", head: t("devices.last-proof"), width: "15rem", cell: (row) => <LastVerified row={row} /> },
        {
          id: "state",
          head: t("field.status"),
          width: "10.5rem",
          sort: "state",
          side: true,
          cell: (row) => <DeviceStateChip row={row} />,
        },
      ]}
      sheet={(id, onClose) => <DeviceSheet id={id} onClose={onClose} />}
    >
      <section className="card" aria-label={t("devices.states")}>
        <DeviceStates />
      </section>
      <StartLatencyTable />
    </ListPage>
  );
}

function LastVerified({ row }: { row: DeviceRow }) {
  if (row.lastLevel === null) return "–";
  return (
    <span className="row">
      <OutcomeChip delivery={{ level: row.lastLevel, textOnly: false }} />
      {row.lastSeenAt && (
        <span className="soft">
          <Timestamp at={row.lastSeenAt} />
        </span>
      )}
    </span>
  );
}
