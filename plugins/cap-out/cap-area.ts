import { sentence } from "./sentences.ts";
/** Area of an alert. @source CAP 1.2 §3.2.4 */
export interface CapArea {
  areaDesc: string;
  polygons: string[];
  circles: string[];
  geocodes: { valueName: string; value: string }[];
}

const NUMBER = "-?\\d{1,3}(?:\\.\\d{1,10})?";
const POINT = new RegExp(`^(${NUMBER}),(${NUMBER})$`);
/** A closed ring repeats its first point. */
const MIN_POINTS = 4;

/**
 * Parses a group's properties `area`, `polygons` (`lat,lon lat,lon …`), `circles` (`lat,lon km`) and `geocodes`
 * (`name=value`); several values are separated by `;`. Returns an error message for an invalid value.
 */
export function parseCapArea(properties: Readonly<Record<string, string>>, areaDesc: string): CapArea | string {
  const polygons = splitParts(properties.polygons);
  const circles = splitParts(properties.circles);
  const geocodes = splitParts(properties.geocodes).map((part) => part.split("=").map((each) => each.trim()));
  const wrong =
    polygons.find((each) => !isPolygon(each)) ??
    circles.find((each) => !isCircle(each)) ??
    geocodes.find((pair) => pair.length !== 2 || pair.includes(""))?.join("=");
  if (wrong !== undefined) return sentence("area-invalid", { area: wrong });
  return {
    areaDesc: properties.area || areaDesc,
    polygons,
    circles,
    geocodes: geocodes.map(([valueName = "", value = ""]) => ({ valueName, value })),
  };
}

function splitParts(text = ""): string[] {
  return text
    .split(";")
    .map((part) => part.trim().replace(/\s+/g, " "))
    .filter((part) => part !== "");
}

function isPolygon(text: string): boolean {
  const points = text.split(" ");
  return points.length >= MIN_POINTS && points.every(isPoint) && points[0] === points.at(-1);
}

function isCircle(text: string): boolean {
  const [centre = "", radius = "", ...more] = text.split(" ");
  return more.length === 0 && isPoint(centre) && /^\d{1,5}(\.\d{1,10})?$/.test(radius);
}

function isPoint(text: string): boolean {
  const [, latitude, longitude] = POINT.exec(text) ?? [];
  return latitude !== undefined && Math.abs(Number(latitude)) <= 90 && Math.abs(Number(longitude)) <= 180;
}
