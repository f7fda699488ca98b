import { contrastRatio, MIN_TEXT_CONTRAST } from "../../../../lib/contrast.ts";
import type { Branding } from "../../api/client.ts";

const WHITE = "#ffffff";

/** True when a first colour can be read on white, where links are written in it and buttons with white on it. */
export function isReadableColor(color: string): boolean {
  return isColor(color) && contrastRatio(color, WHITE) >= MIN_TEXT_CONTRAST;
}

/**
 * The console's own colours of the light look that a branding changes, by the names of their variables; none when the first
 * colour can't be read. The second is taken where the first can be read on it.
 */
export function brandedColors({
  primaryColor,
  secondaryColor,
}: Pick<Branding, "primaryColor" | "secondaryColor">): Record<string, string> {
  if (!isReadableColor(primaryColor)) return {};
  const isSoft = isColor(secondaryColor) && contrastRatio(primaryColor, secondaryColor) >= MIN_TEXT_CONTRAST;
  return {
    "--accent": primaryColor,
    "--mantine-primary-color-filled": primaryColor,
    "--mantine-primary-color-filled-hover": `color-mix(in srgb, ${primaryColor} 88%, black)`,
    ...(isSoft ? { "--accent-soft": secondaryColor } : {}),
  };
}

function isColor(text: string): boolean {
  return /^#[0-9a-f]{6}$/i.test(text);
}
