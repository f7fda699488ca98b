import { Button } from "@mantine/core";
import type { ReactNode } from "react";
import type { RouteFor, RouteParams, RouteQuery } from "../../api/routes.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { PageTitle } from "../page-title.tsx";
import { NEW } from "../row-sheet.tsx";
import { type SECTION_TABS, SectionTabs } from "../section-tabs.tsx";
import type { Column } from "./column.ts";
import { FilterChips } from "./filter-chips.tsx";
import { ListTable } from "./list-table.tsx";
import { SearchField } from "./search-field.tsx";
import { SortChoice } from "./table-head.tsx";
import { filterQuery, type ListFilter } from "./table-search.ts";
import { useTableSearch } from "./use-table-search.ts";

interface ListPageProps<T> {
  tabs?: keyof typeof SECTION_TABS;
  title: string;
  /** The word of the first action, which makes a new row in the side sheet; or that action itself. */
  add?: ReactNode;
  /** What to say, with the first action beside it, when there is nothing yet. */
  none: ReactNode;
  route: RouteFor<"get">;
  /** Of what the list lies in. */
  params?: RouteParams;
  query?: RouteQuery;
  /** The order unless another is chosen. */
  sort?: string;
  filters?: readonly ListFilter[];
  /** Between head and list, such as a picture of what the list holds. */
  children?: ReactNode;
  /** The first column of a list whose rows have a sheet, which opens it. */
  opener?: Opener<T>;
  /** The columns, behind the opener where there is one. */
  columns: readonly Column<T>[];
  /** Opens a row; in the side sheet unless given. */
  onOpen?(row: T): void;
  sheet?(id: string, onClose: () => void): ReactNode;
}

/** What opens a row: its name, in a wide column by which the list is sorted, unless told otherwise. */
interface Opener<T> {
  head?: string;
  width?: string;
  /** Null where it can't be sorted by. */
  sort?: string | null;
  text?(row: T): string;
}

/**
 * The one frame of every list: search, filters and order kept in the address, first action, states, and a side sheet for
 * the row that is open while the list stays.
 */
export function ListPage<T extends { id: string }>(props: ListPageProps<T>) {
  const { tabs, title, add, none, route, query, filters = [], children, sheet } = props;
  const { t } = useTranslation();
  const [search, show] = useTableSearch();
  const { q, open } = search;
  const sort = search.sort ?? props.sort ?? "name";
  const openRow = (id: string) => show({ open: id });
  const onOpen = props.onOpen ?? (sheet ? (row: T) => openRow(row.id) : undefined);
  const columns = sheet
    ? [openerColumn(props.opener ?? {}, t("field.name"), openRow), ...props.columns]
    : props.columns;
  const chosen = filterQuery(filters, search);
  const isNarrowed = Boolean(q) || Object.keys(chosen).length > 0;
  const action = typeof add === "string" ? <Button onClick={() => openRow(NEW)}>{add}</Button> : add;
  const onSort = (next: string) => show({ sort: next });
  const clear = () => show({ q: undefined, ...Object.fromEntries(filters.map(({ name }) => [name, undefined])) });
  return (
    <div className="page full">
      {tabs && <SectionTabs of={tabs} />}
      <div className="head">
        <PageTitle>{title}</PageTitle>
        <span className="space" />
        {action}
      </div>
      {children}
      <div className="list-tools">
        <SearchField value={q ?? ""} onSearch={(text) => show({ q: text })} />
        <SortChoice {...{ columns, sort, onSort }} />
        {filters.length > 0 && <FilterChips filters={filters} />}
      </div>
      <ListTable<T>
        {...{ route, columns, sort, onSort }}
        {...(props.params ? { params: props.params } : {})}
        label={title}
        query={{ ...(q ? { q } : {}), ...chosen, ...query }}
        {...(onOpen ? { onOpen } : {})}
        empty={
          isNarrowed ? (
            <>
              <p>{t("search.none")}</p>
              <Button variant="default" onClick={clear}>
                {t("table.all")}
              </Button>
            </>
          ) : (
            <>
              {typeof none === "string" ? <p>{none}</p> : none}
              {action}
            </>
          )
        }
      />
      {open && sheet?.(open, () => show({ open: undefined }))}
    </div>
  );
}

function openerColumn<T extends { id: string }>(
  { head, width = "2fr", sort = "name", text = nameOf }: Opener<T>,
  nameHead: string,
  open: (id: string) => void,
): Column<T> {
  return {
    id: "opener",
    head: head ?? nameHead,
    width,
    ...(sort === null ? {} : { sort }),
    cell: (row) => (
      <button type="button" className="open" onClick={() => open(row.id)}>
        {text(row)}
      </button>
    ),
  };
}

function nameOf(row: { id: string; name?: unknown }): string {
  return String(row.name ?? "");
}
