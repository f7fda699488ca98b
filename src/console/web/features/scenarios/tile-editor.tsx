import { useTranslation } from "../../i18n/use-translation.tsx";
import { ICON_NAMES, ScenarioIcon } from "./scenario-icon.tsx";
import { textColorOn } from "./text-color.ts";

/** Distinguishable colours on light and dark backgrounds. */
const COLOURS = ["#b01d24", "#c2410c", "#8a5a00", "#1c6b3a", "#0f766e", "#1d4f91", "#5b21b6", "#374151"] as const;

interface TileEditorProps {
  icon: string | null;
  colour: string;
  name: string;
  onChange(part: { icon?: string | null; backgroundColor?: string }): void;
}

/** The first colour of a new scenario. */
export const DEFAULT_TILE_COLOUR = COLOURS[5];

/** What the tile of a scenario looks like. */
export function TileEditor({ icon, colour, name, onChange }: TileEditorProps) {
  const translator = useTranslation();
  const { t } = translator;
  const ground = { background: colour, color: textColorOn(colour) };
  return (
    <div className="stack">
      <fieldset className="swatches" aria-label={t("tile.colour")}>
        <legend>{t("tile.colour")}</legend>
        {COLOURS.map((each) => (
          <button
            key={each}
            type="button"
            className="colour"
            style={{ background: each, color: textColorOn(each) }}
            aria-label={translator.name("colour", each.slice(1))}
            aria-pressed={each === colour.toLowerCase()}
            onClick={() => onChange({ backgroundColor: each })}
          >
            {each === colour.toLowerCase() ? "✓" : ""}
          </button>
        ))}
        <label className="colour-own">
          {t("tile.other-colour")}
          <input
            type="color"
            value={/^#[0-9a-f]{6}$/i.test(colour) ? colour : "#000000"}
            onChange={(event) => onChange({ backgroundColor: event.currentTarget.value })}
          />
        </label>
      </fieldset>
      <fieldset className="swatches" aria-label={t("tile.icon")}>
        <legend>{t("tile.icon")}</legend>
        {ICON_NAMES.map((each) => (
          <button
            key={each}
            type="button"
            className="icon-choice"
            style={each === icon ? ground : {}}
            aria-label={translator.name("icon", each)}
            title={translator.name("icon", each)}
            aria-pressed={each === icon}
            onClick={() => onChange({ icon: each === icon ? null : each })}
          >
            <ScenarioIcon icon={each} name={name} size={28} />
          </button>
        ))}
      </fieldset>
    </div>
  );
}
