import { useEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "../../i18n/use-translation.tsx";
import type { MapBackground } from "../../ui/map/map-background.ts";
import { createPointsMap, type MapPoint, type PointsMap } from "../../ui/map/points-map.ts";
import { BackgroundSelect } from "../areas/background-select.tsx";
import { ATTENTION_STYLES, mostUrgent } from "./appliance-attention.ts";
import type { RatedAppliance } from "./appliance-list.tsx";
import "leaflet/dist/leaflet.css";
import "../areas/areas.css";

const GRID: MapBackground = { kind: "grid" };

/** Sites with their appliances where they are; those of one site are one sign, which shows the worst. */
export function ApplianceMap({ rows, onSelect }: { rows: readonly RatedAppliance[]; onSelect(siteId: string): void }) {
  const { t } = useTranslation();
  const place = useRef<HTMLElement>(null);
  const select = useRef(onSelect);
  select.current = onSelect;
  const [map, setMap] = useState<PointsMap | null>(null);
  const [background, setBackground] = useState<MapBackground>(GRID);
  const points = usePoints(rows);
  const places = JSON.stringify(points.map(({ id, latitude, longitude }) => [id, latitude, longitude]).sort());
  const shown = useRef(points);
  shown.current = points;
  const words = JSON.stringify({ zoomIn: t("areas.zoom-in"), zoomOut: t("areas.zoom-out") });
  const isEmpty = points.length === 0;
  useEffect(() => {
    if (!place.current || isEmpty) return;
    const made = createPointsMap(place.current, JSON.parse(words), (siteId) => select.current(siteId));
    setMap(made);
    return () => {
      setMap(null);
      made.remove();
    };
  }, [words, isEmpty]);
  useEffect(() => map?.showBackground(background), [map, background]);
  useEffect(() => map?.show(points), [map, points]);
  // Not with every reading: somebody may be looking elsewhere.
  useEffect(() => {
    if (places !== "[]") map?.goTo(shown.current);
  }, [map, places]);
  if (isEmpty) return <p className="soft">{t("appliances.no-map")}</p>;
  return (
    <>
      <section ref={place} className="area-map small" aria-label={t("appliances.map")} />
      <BackgroundSelect onChoose={setBackground} />
    </>
  );
}

function usePoints(rows: readonly RatedAppliance[]): MapPoint[] {
  const { t, name } = useTranslation();
  return useMemo(() => {
    const sites = new Map<string, RatedAppliance[]>();
    for (const row of rows) if (row.site) sites.set(row.site.siteId, [...(sites.get(row.site.siteId) ?? []), row]);
    return [...sites].flatMap(([id, here]) => {
      const site = here[0]?.site;
      if (!site || site.latitude === null || site.longitude === null) return [];
      const care = mostUrgent(here.map((row) => row.attention));
      const all = here.map((row) => `${row.name ?? row.endpointId}: ${name("appliance-attention", row.attention)}`);
      const label = here.length === 1 ? site.name : t("appliances.at-site", { name: site.name, count: here.length });
      const { latitude, longitude } = site;
      return [{ id, latitude, longitude, label, words: `${site.name}. ${all.join(", ")}`, ...ATTENTION_STYLES[care] }];
    });
  }, [rows, t, name]);
}
