import type { Branding } from "../access/branding.ts";
import { html, type Markup, raw } from "./plain-page.ts";

/** What a branding changes of a page. */
export interface BrandedParts {
  /** Rules that follow the page's own. */
  style: string;
  /** What stands above everything; null for the product's own name and sign. */
  header: Markup | null;
  /** Further pictures may come from the own origin. */
  hasPicture: boolean;
}

/** White, which the accent stands on and is written upon. */
const WHITE = 1.05;
/** @source WCAG 2.2, 1.4.3 */
const READABLE = 4.5;

/**
 * The parts of a page that a branding changes. own choice: a colour that can't be read on white is left out, and dark
 * pages keep the colours that were chosen for them.
 */
export function brandedParts(branding: Branding): BrandedParts {
  const { primaryColor, logoSha, logoAltText, companyName } = branding;
  const isReadable = WHITE / (luminance(primaryColor) + 0.05) >= READABLE;
  const style = isReadable ? `@media(prefers-color-scheme:light){:root{--accent:${primaryColor}}}` : "";
  const picture = logoSha
    ? html`<img src="/api/branding/logo?v=${logoSha.slice(0, 16)}" alt="${logoAltText}" height="40">`
    : raw("");
  const header = logoSha || companyName ? html`${picture}${companyName ?? ""}` : null;
  return { style, header, hasPicture: logoSha !== null };
}

/** Relative luminance of `#rrggbb`, 0..1. @source WCAG 2.2, relative luminance */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
