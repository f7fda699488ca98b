/** Minimum contrast ratio of legible text. @source WCAG 2.2, 1.4.3 */
export const MIN_TEXT_CONTRAST = 4.5;

/** Contrast ratio of two `#rrggbb` colours, 1..21. @source WCAG 2.2, contrast ratio */
export function contrastRatio(first: string, second: string): number {
  const [darker = 0, lighter = 0] = [luminance(first), luminance(second)].sort((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

/** Relative luminance of `#rrggbb`, 0..1. @source WCAG 2.2, relative luminance */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
