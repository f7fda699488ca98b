import { useMemo } from "react";
import { encode } from "uqr";

/** Pixels of a module; with the quiet zone that the standard asks for. @source ISO/IEC 18004 §6.3.8 */
const MODULE_PX = 4;
const QUIET_ZONE_MODULES = 4;

/** A QR code; black on white in every theme, since not all readers take inverted ones. */
export function QrCode({ text, label }: { text: string; label: string }) {
  const { size, data } = useMemo(() => encode(text, { border: QUIET_ZONE_MODULES }), [text]);
  const path = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : ""))).join("");
  return (
    <svg
      role="img"
      aria-label={label}
      width={size * MODULE_PX}
      height={size * MODULE_PX}
      viewBox={`0 0 ${size} ${size}`}
      shapeRendering="crispEdges"
    >
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}
