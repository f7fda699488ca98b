import L from "leaflet";
import { type BaseMap, type BaseMapLabels, createBaseMap } from "./base-map.ts";

/** A place on the map. */
export interface MapPoint {
  id: string;
  latitude: number;
  longitude: number;
  /** What stands beside the sign. */
  label: string;
  /** The whole of it, for those who don't see the map, and on hover. */
  words: string;
  /** `good`, `warn`, `bad`, or empty; its sign says the same. */
  tone: string;
  sign: string;
}

/** A map of places. */
export interface PointsMap extends Pick<BaseMap, "showBackground" | "remove"> {
  /** Shows them in the place of others. */
  show(points: readonly MapPoint[]): void;
  /** Moves to where they are; stays when there is none. */
  goTo(points: readonly MapPoint[]): void;
}

/** Maximum zoom when fitting; closer, only the grid is visible. */
const NEAREST = 15;
const EDGE_PX = 60;

/** Draws points into `place`; each is a button that calls `onSelect`. */
export function createPointsMap(place: HTMLElement, words: BaseMapLabels, onSelect: (id: string) => void): PointsMap {
  const { map, showBackground, remove } = createBaseMap(place, words);
  const markers = new Map<string, { text: string; marker: L.Marker }>();
  return {
    showBackground,
    remove,
    show(points) {
      const known = new Set(points.map(({ id }) => id));
      for (const [id, { marker }] of markers) {
        if (known.has(id)) continue;
        marker.remove();
        markers.delete(id);
      }
      for (const point of points) {
        const text = JSON.stringify(point);
        const old = markers.get(point.id);
        // An unchanged marker stays and keeps its focus.
        if (old?.text === text) continue;
        const hadFocus = old?.marker.getElement()?.contains(document.activeElement) === true;
        old?.marker.remove();
        const marker = markerOf(point, onSelect).addTo(map);
        markers.set(point.id, { text, marker });
        if (hadFocus) marker.getElement()?.querySelector("button")?.focus();
      }
    },
    goTo(points) {
      if (points.length === 0) return;
      const bounds = L.latLngBounds(points.map(({ latitude, longitude }) => [latitude, longitude]));
      map.fitBounds(bounds, { animate: false, maxZoom: NEAREST, padding: [EDGE_PX, EDGE_PX] });
    },
  };
}

function markerOf(point: MapPoint, onSelect: (id: string) => void): L.Marker {
  const button = document.createElement("button");
  button.type = "button";
  button.className = `map-point ${point.tone}`;
  button.title = point.words;
  button.setAttribute("aria-label", point.words);
  button.append(partOf("map-sign", point.sign), partOf("map-point-name", point.label));
  button.addEventListener("click", () => onSelect(point.id));
  L.DomEvent.disableClickPropagation(button);
  const icon = L.divIcon({ className: "map-point-place", html: button, iconSize: [0, 0] });
  return L.marker([point.latitude, point.longitude], { icon, keyboard: false, pane: "popupPane" });
}

function partOf(className: string, text: string): HTMLElement {
  const part = document.createElement("span");
  part.className = className;
  part.textContent = text;
  return part;
}
