import type { Branding } from "../auth/branding.ts";
import { contrastRatio, MIN_TEXT_CONTRAST } from "../lib/contrast.ts";
import { html, type Markup, rawHtml } from "./html-page.ts";

/** Parts of a page that depend on the branding. */
export interface PageBranding {
  /** Rules that follow the page's own. */
  style: string;
  /** Header; null for the product name and logo. */
  header: Markup | null;
  /** Images of our own origin are allowed. */
  hasPicture: boolean;
}

/** Background and text colour that is combined with the accent colour. */
const WHITE = "#ffffff";

/**
 * The parts of a page that a branding changes. A colour that can't be read on white is left out, and dark pages keep
 * the colours that were chosen for them.
 */
export function pageBranding(branding: Branding): PageBranding {
  const { primaryColor, logoSha, logoAltText, companyName } = branding;
  const isReadable = contrastRatio(primaryColor, WHITE) >= MIN_TEXT_CONTRAST;
  const style = isReadable ? `@media(prefers-color-scheme:light){:root{--accent:${primaryColor}}}` : "";
  const picture = logoSha
    ? html`<img src="/api/branding/logo?v=${logoSha.slice(0, 16)}" alt="${logoAltText}" height="40">`
    : rawHtml("");
  const header = logoSha || companyName ? html`${picture}${companyName ?? ""}` : null;
  return { style, header, hasPicture: logoSha !== null };
}
