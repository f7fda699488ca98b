import type { ScenarioRow } from "../../api/scenario-rows.ts";
import { DrillChip } from "../../ui/status-chip.tsx";
import { ScenarioIcon } from "./scenario-icon.tsx";
import { textColorOn } from "./text-color.ts";

interface LaunchTileProps {
  scenario: ScenarioRow;
  drill: boolean;
  onOpen(): void;
}

/** A tile in its own colour; hatched and labelled in a drill. */
export function LaunchTile({ scenario, drill, onOpen }: LaunchTileProps) {
  const { name, description, icon, backgroundColor } = scenario;
  const colours = drill ? {} : { background: backgroundColor, color: textColorOn(backgroundColor) };
  return (
    <button type="button" className={drill ? "launch-tile drill" : "launch-tile"} style={colours} onClick={onOpen}>
      <span className="launch-tile-top">
        <ScenarioIcon icon={icon} name={name} size={64} />
        <DrillChip drill={drill} />
      </span>
      <strong>{name}</strong>
      {description && <span>{description}</span>}
    </button>
  );
}
