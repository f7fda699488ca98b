import type { DeviceRow } from "../../api/rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import { offlineRingStateOf } from "./offline-ring-state.ts";

const TONES = { kept: "good", behind: "warn", alone: "warn", none: "bad" } as const;

/** Offline rings of a speaker with an agent; nothing for other devices. */
export function OfflineRings({ row }: { row: DeviceRow }) {
  const { t } = useTranslation();
  const { clock } = useConsole();
  const state = offlineRingStateOf(row, clock.now());
  if (state === null) return null;
  const { RingPlanUntil: until, RingPlanAt: at } = row.attributes;
  return (
    <section aria-live="polite">
      <h2>{t("offline-rings.title")}</h2>
      <p>
        <Chip tone={TONES[state]}>{t(`offline-rings.${state}`)}</Chip>
      </p>
      <p className="soft">{t(`offline-rings-text.${state}`)}</p>
      <dl className="facts">
        <dt>{t("offline-rings.until")}</dt>
        <dd>
          <Timestamp at={until || null} />
        </dd>
        <dt>{t("offline-rings.at")}</dt>
        <dd>
          <Timestamp at={at || null} />
        </dd>
      </dl>
    </section>
  );
}
