import type { ScenarioRow } from "../../api/scenario-rows.ts";
import { ScenarioIcon } from "./scenario-icon.tsx";
import { textColorOn } from "./text-color.ts";

interface TileFaceProps {
  scenario: Pick<ScenarioRow, "name" | "description" | "icon" | "backgroundColor">;
  size: number;
}

/** The picture of a scenario on its colour, with its name and when to use it. */
export function TileFace({ scenario, size }: TileFaceProps) {
  const { name, description } = scenario;
  return (
    <div className="tile-face">
      <TileIcon scenario={scenario} size={size} />
      <div className="stack tight">
        <strong>{name}</strong>
        {description && <span>{description}</span>}
      </div>
    </div>
  );
}

/** The picture alone. */
export function TileIcon({ scenario, size }: TileFaceProps) {
  const { icon, name, backgroundColor } = scenario;
  return (
    <span
      className="tile-mark"
      style={{ background: backgroundColor, color: textColorOn(backgroundColor), padding: size / 5 }}
      aria-hidden="true"
    >
      <ScenarioIcon icon={icon} name={name} size={size} />
    </span>
  );
}
