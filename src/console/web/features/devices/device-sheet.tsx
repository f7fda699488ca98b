import { routeUrl as pathOf } from "../../api/routes.ts";
import type { DeviceRow } from "../../api/rows.ts";
import { useRows } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { OutcomeChip } from "../../ui/outcome-chip.tsx";
import { SheetTabs } from "../../ui/sheet-tabs.tsx";
import { SideSheet } from "../../ui/side-sheet.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import { ActivationPreview } from "./activation-preview.tsx";
import { ConnectivityCheck } from "./connectivity-check.tsx";
import { DeviceForm } from "./device-form.tsx";
import { DeviceStateChip } from "./device-state.tsx";
import { OfflineRings } from "./offline-rings.tsx";
import { PhoneConfiguration } from "./phone-configuration.tsx";

/** Where a device is reached: a phone's IP address, a zone's multicast group and port. */
export function deviceAddress({ attributes }: DeviceRow): string {
  return attributes.IPAddress ?? [attributes.Group, attributes.Port].filter(Boolean).join(":");
}

/** One device: verification and properties. */
export function DeviceSheet({ id, onClose }: { id: string; onClose: () => void }) {
  const { t } = useTranslation();
  const row = useRows<DeviceRow>("devices", {}, { ids: [id] }).data?.data.find((each) => each.id === id);
  if (!row) return null;
  return (
    <SideSheet title={row.description} onClose={onClose}>
      <SheetTabs
        label={row.description}
        tabs={[
          { id: "state", label: t("field.status"), content: <Known row={row} /> },
          { id: "change", label: t("device.change"), content: <DeviceForm device={row} onClose={onClose} /> },
        ]}
      />
    </SideSheet>
  );
}

function Known({ row }: { row: DeviceRow }) {
  const { t, name } = useTranslation();
  return (
    <div className="stack">
      <div>
        <DeviceStateChip row={row} />
      </div>
      <p>{t(`device-state-text.${row.state ?? "untried"}`)}</p>
      <Verification row={row} />
      <ConnectivityCheck row={row} />
      {row.type === "phones" && <PhoneConfiguration deviceId={row.id} />}
      <OfflineRings row={row} />
      <h2>{t("activation.who")}</h2>
      <ActivationPreview deviceId={row.id} />
      <dl className="facts">
        <Fact name={t("field.type")} value={name("type", row.type)} />
        <Fact name={t("field.deviceIdentifier")} value={row.deviceIdentifier} />
      </dl>
      {row.attributes.Group && row.attributes.Port ? (
        <a href={pathOf("devices/{deviceId}/zone.sdp", { deviceId: row.id })} download>
          {t("devices.sdp")}
        </a>
      ) : null}
      <h2>{t("devices.attributes")}</h2>
      <dl className="facts">
        {Object.entries(row.attributes).map(([key, value]) => (
          <Fact key={key} name={key} value={value} />
        ))}
      </dl>
    </div>
  );
}

function Verification({ row }: { row: DeviceRow }) {
  const { t } = useTranslation();
  return (
    <dl className="facts">
      <dt>{t("devices.last-proof")}</dt>
      <dd>{row.lastLevel ? <OutcomeChip delivery={{ level: row.lastLevel, textOnly: false }} /> : "–"}</dd>
      <dt>{t("devices.last-answer")}</dt>
      <dd>{row.lastSeenAt ? <Timestamp at={row.lastSeenAt} /> : t("devices.never")}</dd>
      {row.failures ? (
        <Fact name={t("devices.failures")} value={t("devices.failures-n", { count: row.failures })} />
      ) : null}
    </dl>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd style={{ overflowWrap: "anywhere" }}>{value}</dd>
    </>
  );
}
