import { useEffect, useRef, useState } from "react";
import type { AreaRow } from "../../api/place-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import type { MapBackground } from "../../ui/map/map-background.ts";
import type { AreaDraft } from "./area-draft.ts";
import { createEditableMap, type EditableMap, type MapEvents } from "./editable-map.ts";
import "leaflet/dist/leaflet.css";
import "./areas.css";

interface AreaMapProps extends MapEvents {
  areas: readonly AreaRow[];
  /** The area that is redrawn; null for a new one or none. */
  drawnId: string | null;
  draft: AreaDraft | null;
  background: MapBackground;
  /** The map is there. */
  onReady(map: EditableMap): void;
}

/** Areas on a map, and the one that is drawn. */
export function AreaMap({ areas, drawnId, draft, background, onSelect, onDraw, onReady }: AreaMapProps) {
  const { t } = useTranslation();
  const place = useRef<HTMLElement>(null);
  const events = useRef<MapEvents>({ onSelect, onDraw });
  events.current = { onSelect, onDraw };
  const [map, setMap] = useState<EditableMap | null>(null);
  const words = JSON.stringify({
    zoomIn: t("areas.zoom-in"),
    zoomOut: t("areas.zoom-out"),
    middle: t("areas.middle"),
    edge: t("areas.edge"),
  });
  useEffect(() => {
    if (!place.current) return;
    const made = createEditableMap(place.current, JSON.parse(words), {
      onSelect: (areaId) => events.current.onSelect(areaId),
      onDraw: (next) => events.current.onDraw(next),
    });
    setMap(made);
    return () => made.remove();
  }, [words]);
  useEffect(() => map?.showAreas(areas, drawnId), [map, areas, drawnId]);
  useEffect(() => map?.showDraft(draft), [map, draft]);
  useEffect(() => {
    if (map) onReady(map);
  }, [map, onReady]);
  useEffect(() => map?.showBackground(background), [map, background]);
  return <section ref={place} className="area-map" aria-label={t("areas.map")} />;
}
