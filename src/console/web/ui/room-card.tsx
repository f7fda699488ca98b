import { Button } from "@mantine/core";
import { useState } from "react";
import type { Named } from "../api/rows.ts";
import type { PlaceIds } from "../api/scenario-rows.ts";
import { PlaceSelect } from "../features/places/place-select.tsx";
import { useTranslation } from "../i18n/use-translation.tsx";
import { ErrorLine } from "./error-line.tsx";

interface RoomCardProps {
  /** Where somebody or something is; null for nowhere. */
  zone: Named | null;
  canChange: boolean;
  isSaving: boolean;
  error: unknown;
  onChange(zoneId: string | null): void;
}

/** The room of a person or a device, and how to choose another one. */
export function RoomCard({ zone, canChange, isSaving, error, onChange }: RoomCardProps) {
  const { t } = useTranslation();
  const [place, setPlace] = useState<PlaceIds | null>(null);
  const choose = (next: PlaceIds): void => {
    setPlace(next.zone ? null : next);
    if (next.zone) onChange(next.zone.id);
  };
  return (
    <section className="card">
      <div className="row">
        <span className="grow">
          {t("room.title")}: <strong>{zone?.name ?? t("room.none")}</strong>
        </span>
        {canChange && (
          <Button variant="default" size="compact-md" loading={isSaving} onClick={() => setPlace(place ? null : {})}>
            {t(place ? "room.later" : "room.choose")}
          </Button>
        )}
        {canChange && zone && (
          <Button variant="default" size="compact-md" disabled={isSaving} onClick={() => onChange(null)}>
            {t("room.clear")}
          </Button>
        )}
      </div>
      {place && <PlaceSelect label={t("room.title")} otherwise="–" place={place} onChange={choose} />}
      <ErrorLine error={error} />
    </section>
  );
}
