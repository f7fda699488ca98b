/**
 * Text colour for a background `#rrggbb`: black or white, whichever has more contrast, so at least 4.58. Black for an
 * invalid colour. @source WCAG 2.2, contrast ratio
 */
export function textColorOn(ground: string): "#000000" | "#ffffff" {
  const light = luminanceOf(ground);
  if (light === null) return "#000000";
  return 1.05 / (light + 0.05) > (light + 0.05) / 0.05 ? "#ffffff" : "#000000";
}

/** 0 for black to 1 for white; null for what is no colour. */
function luminanceOf(color: string): number | null {
  const digits = /^#([0-9a-f]{6})$/i.exec(color)?.[1];
  if (!digits) return null;
  const [red = 0, green = 0, blue = 0] = [0, 2, 4].map((at) => {
    const share = Number.parseInt(digits.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
