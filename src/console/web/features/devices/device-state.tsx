import type { DeviceRow } from "../../api/rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { Chip } from "../../ui/status-chip.tsx";

/** The states of devices in the order of their worth; `untried` is the API's null. */
export const DISPLAYED_DEVICE_STATES = ["answering", "sent", "silent", "untried"] as const;

/** One of the states. */
export type DisplayedDeviceState = (typeof DISPLAYED_DEVICE_STATES)[number];

const TONES: Readonly<Record<DisplayedDeviceState, string>> = {
  answering: "good",
  sent: "",
  silent: "bad",
  untried: "plain",
};

/** State of a device; "out of service" and "not licensed" take precedence over its last delivery. */
export function DeviceStateChip({ row }: { row: DeviceRow }) {
  const { t, name } = useTranslation();
  if (row.defunct) return <Chip tone="warn">{t("devices.defunct")}</Chip>;
  if (!row.isLicensed) return <Chip tone="bad">{t("devices.unlicensed")}</Chip>;
  const state = row.state ?? "untried";
  return <Chip tone={TONES[state]}>{name("device-state", state)}</Chip>;
}
