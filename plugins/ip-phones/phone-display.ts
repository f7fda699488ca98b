import type { PhoneModel } from "./phone-models.ts";

/** What a phone shows pictures on: pixels, and how many colours they have. */
export interface PhoneDisplay {
  width: number;
  height: number;
  colours: "colour" | "grey" | "black";
}

/** own choice: no phone has more, and a picture is made for each display that somebody names. */
const MAX_WIDTH = 1_920;
const MAX_HEIGHT = 1_200;
const NAME = /^(\d{1,4})x(\d{1,4})-(colour|grey|black)$/;

/**
 * The display of a phone: as it says itself in its header x-CiscoIPPhoneDisplay (`width,height,depth,C` or `…,G`), else
 * that of its model; null for a model that shows no pictures. @source protocols.md 3
 */
export function displayOfPhone(model: PhoneModel, header: string): PhoneDisplay | null {
  if (!model.image) return null;
  const [, width, height, depth, kind] =
    /^\s*(\d{1,4})\s*,\s*(\d{1,4})\s*,\s*(\d{1,2})\s*,\s*([CG])\b/i.exec(header) ?? [];
  const own = parseDisplayName(
    `${width}x${height}-${depth === "1" ? "black" : kind?.toUpperCase() === "G" ? "grey" : "colour"}`,
  );
  return own ?? { ...model.image, colours: model.kind === "mono" ? "grey" : "colour" };
}

/** The display's name, `559x265-colour`; equal displays have one name. */
export function displayName({ width, height, colours }: PhoneDisplay): string {
  return `${width}x${height}-${colours}`;
}

/** The display of that name; null for what is none. */
export function parseDisplayName(name: string): PhoneDisplay | null {
  const [, w, h, colours] = NAME.exec(name) ?? [];
  const [width, height] = [Number(w), Number(h)];
  if (!(width > 0 && height > 0 && width <= MAX_WIDTH && height <= MAX_HEIGHT)) return null;
  return { width, height, colours: colours as PhoneDisplay["colours"] };
}
