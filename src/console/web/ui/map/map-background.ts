import L from "leaflet";
import { cornersOf, type Georeference, measuresOf, type Position } from "../../features/places/georeference.ts";

type GeoJson = NonNullable<Parameters<typeof L.geoJSON>[0]>;

/** Background below the areas. */
export type MapBackground =
  | { kind: "grid" }
  | { kind: "plan"; url: string; ground: Georeference }
  | { kind: "geojson"; data: GeoJson };

const SVG = "http://www.w3.org/2000/svg";
/** Units of the drawing: pictures of one unit are drawn coarsely. */
const UNITS = 1_000;

/** True for GeoJSON that can be drawn. */
export function isGeoJson(data: unknown): data is GeoJson {
  try {
    return L.geoJSON(data as GeoJson).getLayers().length > 0;
  } catch {
    return false;
  }
}

/** The layer of a background; null for the bare map. */
export function backgroundLayer(background: MapBackground): L.Layer | null {
  switch (background.kind) {
    case "plan":
      return planLayer(background.url, background.ground);
    case "geojson":
      return L.geoJSON(background.data, {
        pane: "tilePane",
        interactive: false,
        style: { className: "map-ground", weight: 1.5 },
        pointToLayer: (_, at) => L.circleMarker(at, { pane: "tilePane", radius: 3, className: "map-ground" }),
      });
    default:
      return null;
  }
}

/** Bounds of a layer, to show all of it. */
export function layerBounds(layer: L.Layer): L.LatLngBounds | null {
  const bounds = layer instanceof L.GeoJSON || layer instanceof L.SVGOverlay ? layer.getBounds() : null;
  return bounds?.isValid() ? bounds : null;
}

/** A picture that may be turned: it is drawn within the box around its corners. */
function planLayer(url: string, ground: Georeference): L.Layer {
  const corners = cornersOf(measuresOf(ground)).map(([longitude, latitude]) => L.latLng(latitude, longitude));
  const box = L.latLngBounds(corners);
  const at = ([longitude, latitude]: Position): [number, number] => [
    (UNITS * (longitude - box.getWest())) / (box.getEast() - box.getWest()),
    (UNITS * (box.getNorth() - latitude)) / (box.getNorth() - box.getSouth()),
  ];
  const [left, top] = at(ground.topLeft);
  const [right, rightTop] = at(ground.topRight);
  const [bottomLeft, bottom] = at(ground.bottomLeft);
  const turn = [right - left, rightTop - top, bottomLeft - left, bottom - top].map((each) => each / UNITS);
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${UNITS} ${UNITS}`);
  svg.setAttribute("preserveAspectRatio", "none");
  const picture = document.createElementNS(SVG, "image");
  picture.setAttribute("href", url);
  picture.setAttribute("width", String(UNITS));
  picture.setAttribute("height", String(UNITS));
  picture.setAttribute("preserveAspectRatio", "none");
  picture.setAttribute("transform", `matrix(${[...turn, left, top].join(" ")})`);
  svg.append(picture);
  return L.svgOverlay(svg, box, { pane: "tilePane" });
}
