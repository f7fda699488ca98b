import { Button } from "@mantine/core";
import type { ReactNode } from "react";
import type { RouteFor, RouteQuery } from "../api/routes.ts";
import { useWords } from "../words/use-words.tsx";
import { NEW } from "./row-sheet.tsx";
import { SearchField } from "./search-field.tsx";
import { type Column, ServerTable } from "./server-table.tsx";
import { type TABS, Tabs } from "./tabs.tsx";
import { useTableSearch } from "./use-table-search.ts";

interface ListPageProps<T> {
  tabs: keyof typeof TABS;
  title: string;
  add: string;
  none: string;
  route: RouteFor<"get">;
  query?: RouteQuery;
  columns(open: (id: string) => void): readonly Column<T>[];
  sheet(id: string, onClose: () => void): ReactNode;
}

/** A list with search, sort, a first action when it is empty, and a side sheet for the row that is open. */
export function ListPage<T extends { id: string }>(props: ListPageProps<T>) {
  const { tabs, title, add, none, route, query = {}, columns, sheet } = props;
  const { t } = useWords();
  const [{ q, sort, open }, show] = useTableSearch();
  const addButton = <Button onClick={() => show({ open: NEW })}>{add}</Button>;
  return (
    <div className="page full">
      <Tabs of={tabs} />
      <div className="head">
        <h1>{title}</h1>
        <span className="space" />
        <SearchField value={q ?? ""} onSearch={(text) => show({ q: text })} />
        {addButton}
      </div>
      <ServerTable<T>
        label={title}
        route={route}
        query={{ q, ...query }}
        columns={columns((id) => show({ open: id }))}
        sort={sort ?? "name"}
        onSort={(next) => show({ sort: next })}
        empty={<p>{q ? t("search.none") : none}</p>}
      />
      {open && sheet(open, () => show({ open: undefined }))}
    </div>
  );
}

/** A name that opens its row. */
export function OpenButton({ name, onOpen }: { name: string; onOpen: () => void }) {
  return (
    <button type="button" className="open" onClick={onOpen}>
      {name}
    </button>
  );
}
