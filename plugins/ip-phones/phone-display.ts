import type { PhoneModel } from "./phone-models.ts";

/** A phone's display: pixels and colours. */
export interface PhoneDisplay {
  width: number;
  height: number;
  colours: "colour" | "grey" | "black";
}

/** Limits of displays named in URLs: no phone has more, and each display costs a fitted picture. */
const MAX_WIDTH = 1_920;
const MAX_HEIGHT = 1_200;
const NAME = /^(\d{1,4})x(\d{1,4})-(colour|grey|black)$/;

/**
 * The display from the phone's header x-CiscoIPPhoneDisplay (`width,height,depth,C` or `…,G`), else from its model;
 * null for a model without pictures.
 * @source docs/decisions/0032-phone-push.md, Pages and images
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

/** Name of a display, such as `559x265-colour`; equal displays have the same name. */
export function displayName({ width, height, colours }: PhoneDisplay): string {
  return `${width}x${height}-${colours}`;
}

/** Parses a display name; null if invalid. */
export function parseDisplayName(name: string): PhoneDisplay | null {
  const [, w, h, colours] = NAME.exec(name) ?? [];
  const [width, height] = [Number(w), Number(h)];
  if (!(width > 0 && height > 0 && width <= MAX_WIDTH && height <= MAX_HEIGHT)) return null;
  return { width, height, colours: colours as PhoneDisplay["colours"] };
}
