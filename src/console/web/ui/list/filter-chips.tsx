import { useTranslation } from "../../i18n/use-translation.tsx";
import type { ListFilter } from "./table-search.ts";
import { useTableSearch } from "./use-table-search.ts";

/** The values to choose from, as buttons; the chosen one is taken back by a second press. */
export function FilterChips({ filters }: { filters: readonly ListFilter[] }) {
  const { t } = useTranslation();
  const [search, show] = useTableSearch();
  const chosen = filters.some(({ name }) => search[name]);
  return (
    <div className="filters">
      {filters.map(({ name, label, choices }) => (
        <fieldset key={name} className="filter" aria-label={label}>
          {choices.map(({ value, label: word }) => {
            const on = search[name] === value;
            return (
              <button
                key={value}
                type="button"
                className="filter-chip"
                aria-pressed={on}
                onClick={() => show({ [name]: on ? undefined : value })}
              >
                {on && <span aria-hidden="true">✓ </span>}
                {word}
              </button>
            );
          })}
        </fieldset>
      ))}
      {chosen && (
        <button
          type="button"
          className="filter-chip bare"
          onClick={() => show(Object.fromEntries(filters.map(({ name }) => [name, undefined])))}
        >
          {t("table.all")}
        </button>
      )}
    </div>
  );
}
