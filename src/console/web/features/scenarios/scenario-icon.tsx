/** Pictures of tiles by the name that a scenario keeps; lines on a square of 24. */
export const SCENARIO_ICONS = {
  lock: "M6 11h12v9H6zM8.500 11V8a3.500 3.500 0 017 0v3M12 14.500v2.500",
  shelter: "M3 12l9-8 9 8M6 10v10h12V10M10 20v-6h4v6",
  evacuate: "M4 20V4h9v16M13 12h8M18 9l3 3-3 3M9.500 12h0.500",
  fire: "M12 3c1 4 5 5.500 5 10a5 5 0 01-10 0c0-2 1-3 2-4 .500 1.500 1.500 2 2 2 .500-3-.500-5 1-8z",
  medical: "M9 4h6v5h5v6h-5v5H9v-5H4V9h5z",
  storm: "M7 14a4 4 0 01.500-8 5 5 0 019.500 1.500A3.500 3.500 0 0117 14M13 11l-3 5h4l-3 5",
  snow: "M12 3v18M4.200 7.500l15.600 9M19.800 7.500l-15.600 9M9.500 4.500L12 7l2.500-2.500M9.500 19.500L12 17l2.500 2.500",
  hazard: "M12 3l10 18H2zM12 10v5M12 18v.500",
  intruder: "M9 11a3.500 3.500 0 100-7 3.500 3.500 0 000 7zM2.500 20a6.500 6.500 0 0111-4.500M16 14l5 5M21 14l-5 5",
  missing: "M10 16a6 6 0 100-12 6 6 0 000 12zM14.500 14.500L20 20M10 7.500a2 2 0 011 3.700V12M10 13.500v.300",
  bus: "M5 4h14v13H5zM5 11h14M8 17v3M16 17v3M8 14h.500M15.500 14h.500",
  power: "M13 3L5 14h6l-1 7 8-11h-6z",
  water: "M12 3c4 5 6 8 6 11a6 6 0 01-12 0c0-3 2-6 6-11z",
  bell: "M6 16V11a6 6 0 0112 0v5l2 2H4zM10 20.500h4",
  megaphone: "M4 10v4h3l9 5V5l-9 5zM19 9.500a4 4 0 010 5",
  police: "M12 3l8 3v6c0 5-4 8-8 9-4-1-8-4-8-9V6zM9 12l2 2 4-4",
  clear: "M12 21a9 9 0 100-18 9 9 0 000 18zM8 12l3 3 5-6",
  people:
    "M9 11a3.500 3.500 0 100-7 3.500 3.500 0 000 7zM2.500 20a6.500 6.500 0 0113 0M16 4.500a3.500 3.500 0 010 6M18 14a6.500 6.500 0 013.500 6",
} as const;

/** One of the pictures. */
export type ScenarioIconName = keyof typeof SCENARIO_ICONS;

/** The names of the pictures. */
export const ICON_NAMES = Object.keys(SCENARIO_ICONS) as ScenarioIconName[];

/** The picture of a scenario; the first letter of its name where it has none that is known. */
export function ScenarioIcon({ icon, name, size }: { icon: string | null; name: string; size: number }) {
  const known = ICON_NAMES.find((each) => each === icon);
  return (
    <svg width={size} height={size} viewBox="0 0 24 24" aria-hidden="true" className="scenario-icon">
      {known ? (
        <path
          d={SCENARIO_ICONS[known]}
          fill="none"
          stroke="currentColor"
          strokeWidth="1.8"
          strokeLinejoin="round"
          strokeLinecap="round"
        />
      ) : (
        <text x="12" y="18" textAnchor="middle" fontSize="17" fontWeight="700" fill="currentColor">
          {[...name][0]?.toUpperCase() ?? ""}
        </text>
      )}
    </svg>
  );
}
