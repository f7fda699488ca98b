import { Select } from "@mantine/core";
import type { TemplateRow } from "../../api/rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { withPlaceholders } from "../scenarios/placeholders.ts";

interface TilesProps {
  rows: readonly TemplateRow[];
  chosen: string | null;
  onChoose(template: TemplateRow | null): void;
}

const MAX_TILES = 11;

/** Templates to begin with, or free text. */
export function TemplateTiles({ rows, chosen, onChoose }: TilesProps) {
  const { t } = useTranslation();
  if (rows.length === 0) return null;
  const shown = rows.slice(0, MAX_TILES);
  const rest = rows.slice(MAX_TILES);
  return (
    <section className="stack" aria-label={t("send.templates")}>
      <div className="tiles">
        <button type="button" className="tile" aria-pressed={chosen === null} onClick={() => onChoose(null)}>
          {t("send.free")}
          <small>{t("send.free-hint")}</small>
        </button>
        {shown.map((row) => (
          <button
            key={row.id}
            type="button"
            className="tile"
            aria-pressed={chosen === row.id}
            onClick={() => onChoose(row)}
          >
            {row.name}
            <small>{row.subject && withPlaceholders(row.subject)}</small>
          </button>
        ))}
      </div>
      {rest.length > 0 && (
        <Select
          aria-label={t("send.more-templates")}
          placeholder={t("send.more-templates")}
          searchable
          clearable
          value={rest.some(({ id }) => id === chosen) ? chosen : null}
          data={rest.map(({ id, name }) => ({ value: id, label: name }))}
          onChange={(id) => onChoose(rest.find((row) => row.id === id) ?? null)}
        />
      )}
    </section>
  );
}
