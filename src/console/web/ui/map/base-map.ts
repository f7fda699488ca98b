import L from "leaflet";
import { graticuleOf, latitudeText, longitudeText } from "./graticule.ts";
import { backgroundLayer, layerBounds, type MapBackground } from "./map-background.ts";

/** Labels of every map. */
export interface BaseMapLabels {
  zoomIn: string;
  zoomOut: string;
}

/** A map with nothing but its background. */
export interface BaseMap {
  readonly map: L.Map;
  /** Shows it in the place of another, and moves to where it is. */
  showBackground(background: MapBackground): void;
  remove(): void;
}

const MAX_ZOOM = 22;
/** What a line needs beside its label. */
const LABEL_PX = 90;
/** All of the earth, where nothing says otherwise. */
const WORLD: L.LatLngBoundsLiteral = [
  [-55, -160],
  [70, 160],
];

/** Draws a map into `place`: a background, and a graticule over nothing. No tile is asked for of anybody. */
export function createBaseMap(place: HTMLElement, words: BaseMapLabels): BaseMap {
  const map = L.map(place, { attributionControl: false, zoomControl: false, maxZoom: MAX_ZOOM, worldCopyJump: true });
  L.control.zoom({ position: "topright", zoomInTitle: words.zoomIn, zoomOutTitle: words.zoomOut }).addTo(map);
  L.control.scale().addTo(map);
  map.fitBounds(WORLD);
  const grid = L.layerGroup().addTo(map);
  let ground: L.Layer | null = null;
  map.on("moveend", () => drawGrid(map, grid));
  drawGrid(map, grid);
  const resizing = new ResizeObserver(() => map.invalidateSize());
  resizing.observe(place);
  return {
    map,
    showBackground(background) {
      const next = backgroundLayer(background);
      ground?.remove();
      ground = next;
      if (!next) return;
      next.addTo(map);
      const bounds = layerBounds(next);
      if (bounds) map.fitBounds(bounds, { animate: false });
    },
    remove() {
      resizing.disconnect();
      map.remove();
    },
  };
}

function drawGrid(map: L.Map, grid: L.LayerGroup): void {
  grid.clearLayers();
  const bounds = map.getBounds();
  const view = { west: bounds.getWest(), south: bounds.getSouth(), east: bounds.getEast(), north: bounds.getNorth() };
  const { longitudes, latitudes, digits } = graticuleOf(view, map.getSize().x / LABEL_PX);
  const line = (from: L.LatLngTuple, to: L.LatLngTuple) =>
    L.polyline([from, to], { pane: "tilePane", interactive: false, weight: 1, className: "map-grid" }).addTo(grid);
  const label = (at: L.LatLngTuple, text: string, className: string) =>
    L.marker(at, {
      pane: "tilePane",
      interactive: false,
      keyboard: false,
      icon: L.divIcon({ className: `map-label ${className}`, html: text, iconSize: [0, 0] }),
    }).addTo(grid);
  for (const longitude of longitudes) {
    line([view.south, longitude], [view.north, longitude]);
    label([view.north, longitude], longitudeText(longitude, digits), "top");
  }
  for (const latitude of latitudes) {
    line([latitude, view.west], [latitude, view.east]);
    label([latitude, view.west], latitudeText(latitude, digits), "side");
  }
}
