import L from "leaflet";
import type { AreaRow } from "../../api/place-rows.ts";
import { type BaseMapLabels, createBaseMap } from "../../ui/map/base-map.ts";
import type { MapBackground } from "../../ui/map/map-background.ts";
import { type AreaCircle, type AreaDraft, areaDraftOf, withCenter, withRadius } from "./area-draft.ts";

/** Labels of the map. */
export interface EditableMapLabels extends BaseMapLabels {
  middle: string;
  edge: string;
}

/** Events of the map. */
export interface MapEvents {
  onSelect(areaId: string): void;
  onDraw(draft: AreaDraft): void;
}

/** A map in a page. */
export interface EditableMap {
  /** Shows the areas, but for the one that is drawn. */
  showAreas(areas: readonly AreaRow[], drawnId: string | null): void;
  /** Shows what is drawn, with a handle in its middle and one at its edge; null for nothing. */
  showDraft(draft: AreaDraft | null): void;
  /** Shows it in the place of another, and moves to where it is. */
  showBackground(background: MapBackground): void;
  /** Moves to where circles are; stays when there is none. */
  goTo(circles: readonly AreaCircle[]): void;
  /** A circle in the middle of what is seen. */
  circleInView(): AreaCircle;
  remove(): void;
}

/** Draws a map into `place`: areas over a background. */
export function createEditableMap(place: HTMLElement, words: EditableMapLabels, events: MapEvents): EditableMap {
  const { map, showBackground, remove } = createBaseMap(place, words);
  const areas = L.featureGroup().addTo(map);
  const drawn = createHandles(map, words, events);
  return {
    showAreas(rows, drawnId) {
      areas.clearLayers();
      for (const row of rows) {
        if (row.id === drawnId) continue;
        const { latitude, longitude, radiusInM } = areaDraftOf(row);
        L.circle([latitude, longitude], { radius: radiusInM, className: "map-area", weight: 2 })
          .bindTooltip(textOf(row.name), { permanent: true, direction: "center", className: "map-name" })
          .on("click", () => events.onSelect(row.id))
          .addTo(areas);
      }
    },
    showDraft: drawn.show,
    showBackground,
    goTo(circles) {
      const boxes = circles.map(({ latitude, longitude, radiusInM }) =>
        L.latLng(latitude, longitude).toBounds(radiusInM * 3),
      );
      const [first, ...rest] = boxes;
      if (first)
        map.fitBounds(
          rest.reduce((all, each) => all.extend(each), L.latLngBounds(first.getSouthWest(), first.getNorthEast())),
          { animate: false },
        );
    },
    circleInView() {
      const { lat, lng } = map.getCenter();
      const bounds = map.getBounds();
      const high = map.distance([bounds.getNorth(), lng], [bounds.getSouth(), lng]);
      return { latitude: lat, longitude: lng, radiusInM: high / 8 };
    },
    remove,
  };
}

/** The circle that is drawn and its two handles; those are for the hand, for keys there are the numbers beside the map. */
function createHandles(
  map: L.Map,
  words: EditableMapLabels,
  events: MapEvents,
): { show(draft: AreaDraft | null): void } {
  const circle = L.circle([0, 0], { radius: 1, className: "map-draft", weight: 3, interactive: false });
  const handle = (className: string, title: string) =>
    L.marker([0, 0], {
      // Above the names of areas.
      pane: "popupPane",
      draggable: true,
      keyboard: false,
      autoPan: true,
      title,
      icon: L.divIcon({ className: `map-handle ${className}`, iconSize: [22, 22] }),
    });
  const middle = handle("map-middle", words.middle);
  const edge = handle("map-edge", words.edge);
  const layers = L.layerGroup([circle, middle, edge]);
  let drawn: AreaDraft | null = null;
  let isHeld = false;
  const tell = (draft: AreaDraft): void => {
    place(draft);
    events.onDraw(draft);
  };
  for (const each of [middle, edge]) {
    each.on("dragstart", () => {
      isHeld = true;
    });
    each.on("dragend", () => {
      isHeld = false;
      if (drawn) place(drawn);
    });
  }
  middle.on("drag", () => {
    const { lat, lng } = middle.getLatLng();
    if (drawn) tell(withCenter(drawn, lat, lng));
  });
  edge.on("drag", () => {
    if (drawn) tell(withRadius(drawn, map.distance(middle.getLatLng(), edge.getLatLng())));
  });
  function place(draft: AreaDraft): void {
    drawn = draft;
    const at = L.latLng(draft.latitude, draft.longitude);
    circle.setLatLng(at).setRadius(draft.radiusInM);
    // A handle in the hand stays there.
    if (isHeld) return void edge.setLatLng(edge.getLatLng());
    middle.setLatLng(at);
    edge.setLatLng([draft.latitude, at.toBounds(draft.radiusInM * 2).getEast()]);
  }
  return {
    show(draft) {
      drawn = draft;
      if (!draft || ![draft.latitude, draft.longitude, draft.radiusInM].every(Number.isFinite)) {
        layers.remove();
        return;
      }
      place(draft);
      layers.addTo(map);
    },
  };
}

/** A text as an element, so that what people call an area is never read as markup. */
function textOf(text: string): HTMLElement {
  const element = document.createElement("span");
  element.textContent = text;
  return element;
}
