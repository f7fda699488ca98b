import type { ApplianceRow } from "../../api/link-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import { ATTENTION_STYLES, type AttentionLevel } from "./appliance-attention.ts";
import { HealthChip, LinkChip } from "./appliance-state.tsx";

/** An appliance with its attention level. */
export interface RatedAppliance extends ApplianceRow {
  attention: AttentionLevel;
}

interface ApplianceListProps {
  rows: readonly RatedAppliance[];
  chosen: ReadonlySet<string>;
  onChoose(endpointIds: ReadonlySet<string>): void;
  onOpen(endpointId: string): void;
}

/** Appliances that can be ticked, those that need most first. */
export function ApplianceList({ rows, chosen, onChoose, onOpen }: ApplianceListProps) {
  const { t } = useTranslation();
  const tick = (id: string, isOn: boolean) => onChoose(new Set(isOn ? [...chosen, id] : without(chosen, id)));
  const all = rows.every(({ endpointId }) => chosen.has(endpointId));
  return (
    <>
      <label className="row">
        <input
          type="checkbox"
          checked={all && rows.length > 0}
          onChange={(event) =>
            onChoose(new Set(event.currentTarget.checked ? rows.map(({ endpointId }) => endpointId) : []))
          }
        />
        {t("appliances.all")}
      </label>
      <ul className="plain lined" aria-live="polite" aria-label={t("appliances.title")}>
        {rows.map((row) => (
          <li key={row.endpointId} className="row">
            <input
              type="checkbox"
              aria-label={t("appliances.choose", { name: row.name ?? row.endpointId })}
              checked={chosen.has(row.endpointId)}
              onChange={(event) => tick(row.endpointId, event.currentTarget.checked)}
            />
            <button type="button" className="open" onClick={() => onOpen(row.endpointId)}>
              {row.name ?? row.endpointId}
            </button>
            <State row={row} />
          </li>
        ))}
      </ul>
    </>
  );
}

function State({ row }: { row: RatedAppliance }) {
  const { t, name } = useTranslation();
  const { tone, sign } = ATTENTION_STYLES[row.attention];
  return (
    <>
      <span className={`chip ${tone}`}>
        <span aria-hidden="true">{sign}</span>
        {name("appliance-attention", row.attention)}
      </span>
      <LinkChip link={row.link} />
      <HealthChip health={row.health} />
      {row.alarms.length > 0 && <Chip tone="bad">{`${t("appliances.alarms")}: ${row.alarms.length}`}</Chip>}
      <span className="grow soft">
        {row.site && `${row.site.name} · `}
        {row.version ?? "–"} · {t("appliances.heard")} <Timestamp at={row.heardAt} />
        {row.rowsBehind !== null && row.rowsBehind > 0 && (
          <>
            {" "}
            · {t("appliances.behind")} {t("appliances.behind-rows", { count: row.rowsBehind })}
          </>
        )}
      </span>
    </>
  );
}

function without(ids: ReadonlySet<string>, id: string): string[] {
  return [...ids].filter((each) => each !== id);
}
