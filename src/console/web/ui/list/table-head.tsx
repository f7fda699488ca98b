import { useTranslation } from "../../i18n/use-translation.tsx";
import type { Column } from "./column.ts";

interface TableHeadProps<T> {
  columns: readonly Column<T>[];
  sort: string | undefined;
  onSort: ((sort: string) => void) | undefined;
}

/** Table header; sortable columns are buttons. */
export function TableHead<T>({ columns, sort, onSort }: TableHeadProps<T>) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: rows stand freely
    // biome-ignore lint/a11y/useFocusableInteractive: a row is not operated
    <div className="line headline" role="row" aria-rowindex={1}>
      {columns.map((column) => (
        <Head key={column.id} {...{ column, sort, onSort }} />
      ))}
    </div>
  );
}

function Head<T>({ column, sort, onSort }: Omit<TableHeadProps<T>, "columns"> & { column: Column<T> }) {
  const { t } = useTranslation();
  const { head, sort: field } = column;
  const direction = sort === field ? "ascending" : sort === `-${field}` ? "descending" : "none";
  const sorts = field !== undefined && onSort !== undefined;
  return (
    // biome-ignore lint/a11y/useSemanticElements: rows stand freely
    // biome-ignore lint/a11y/useFocusableInteractive: its button is
    <div role="columnheader" {...(sorts ? { "aria-sort": direction } : {})}>
      {sorts ? (
        <button
          type="button"
          className="sorter"
          title={t("table.sort-by", { field: head })}
          onClick={() => onSort(direction === "ascending" ? `-${field}` : field)}
        >
          {head} <span aria-hidden="true">{direction === "none" ? "↕" : direction === "ascending" ? "▲" : "▼"}</span>
        </button>
      ) : (
        head
      )}
    </div>
  );
}

/** The same choice for a phone, where there is no room for a head. */
export function SortChoice<T>({ columns, sort, onSort }: TableHeadProps<T>) {
  const { t } = useTranslation();
  const fields = columns.flatMap(({ head, sort: field }) => (field ? [{ head, field }] : []));
  if (!onSort || fields.length === 0) return null;
  return (
    <select
      className="narrow-only list-sort"
      aria-label={t("table.sort")}
      value={sort ?? ""}
      onChange={(event) => onSort(event.currentTarget.value)}
    >
      {fields.flatMap(({ head, field }) => [
        <option key={field} value={field}>
          {`▲ ${head}`}
        </option>,
        <option key={`-${field}`} value={`-${field}`}>
          {`▼ ${head}`}
        </option>,
      ])}
    </select>
  );
}
