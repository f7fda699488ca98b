import { Loader } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useMemo, useRef } from "react";
import type { RouteFor, RouteParams, RouteQuery } from "../api/routes.ts";
import { useLongList } from "../api/use-rows.ts";
import { useWords } from "../words/use-words.tsx";
import { FaultLine } from "./fault-line.tsx";
import { rowFits, termsOf } from "./row-search.ts";

/** A column; `width` is a CSS grid track. With `sort` its head sorts by that field. */
export interface Column<T> {
  id: string;
  head: string;
  width: string;
  sort?: string;
  cell(row: T): ReactNode;
}

interface ServerTableProps<T> {
  label: string;
  route: RouteFor<"get">;
  params?: RouteParams;
  query?: RouteQuery;
  columns: readonly Column<T>[];
  sort?: string | undefined;
  onSort?(sort: string): void;
  /** Stands in the place of rows when there are none. */
  empty: ReactNode;
}

const LINE_PX = 45;
/** Rows from the end of what is loaded at which the next page is asked for. */
const AHEAD = 60;
/** A search reads so many rows, and says so when there are more. */
const MOST_SEARCHED = 20_000;

/** A table of any length: only the rows on the screen are in the page, only the pages scrolled to are read. */
export function ServerTable<T extends { id: string }>(props: ServerTableProps<T>) {
  const { label, route, params = {}, query = {}, columns, sort, onSort, empty } = props;
  const { t } = useWords();
  const list = useLongList<T>(route, params, sort ? { ...query, sort } : query);
  const { q } = query as { q?: string };
  const read = useMemo(() => list.data?.pages.flatMap(({ data }) => data) ?? [], [list.data]);
  const rows = useMemo(() => {
    const terms = termsOf(q);
    return terms.length === 0 ? read : read.filter((row) => rowFits(row, terms));
  }, [read, q]);
  const total = list.data?.pages[0]?.total ?? 0;
  const scroller = useRef<HTMLElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => LINE_PX,
    getItemKey: (index) => rows[index]?.id ?? index,
    overscan: 12,
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = list;
  useEffect(() => {
    const isWanted = q ? read.length < MOST_SEARCHED : last >= read.length - AHEAD;
    if (hasNextPage && !isFetchingNextPage && isWanted) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage, last, read.length, q]);
  const tracks = { gridTemplateColumns: columns.map(({ width }) => width).join(" ") };
  if (list.isError) return <FaultLine error={list.error} />;
  return (
    <>
      <p className="soft" role="status">
        {list.isLoading
          ? t("table.loading")
          : q
            ? t("table.found", { n: rows.length, total })
            : t("table.count", { n: total })}
        {q && hasNextPage && ` ${t("table.searched", { n: read.length })}`}
        {isFetchingNextPage && <Loader size="xs" ml="xs" />}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <section className="table" ref={scroller} tabIndex={0} aria-label={label}>
        {!list.isLoading && rows.length === 0 ? (
          <div className="card">{empty}</div>
        ) : (
          // biome-ignore lint/a11y/useSemanticElements: rows stand freely, which those of a table element can't
          <div role="table" aria-label={label} aria-rowcount={total + 1}>
            {/* biome-ignore lint/a11y/useSemanticElements: as above */}
            {/* biome-ignore lint/a11y/useFocusableInteractive: a row is not operated */}
            <div className="line headline" role="row" aria-rowindex={1} style={tracks}>
              {columns.map((column) => (
                <Head key={column.id} column={column} sort={sort} onSort={onSort} />
              ))}
            </div>
            {/* biome-ignore lint/a11y/useSemanticElements: as above */}
            <div className="body" role="rowgroup" style={{ height: virtual.getTotalSize() }}>
              {items.map(({ index, key, start }) => (
                // biome-ignore lint/a11y/useSemanticElements: as above
                // biome-ignore lint/a11y/useFocusableInteractive: a row is not operated
                <div
                  key={key}
                  ref={virtual.measureElement}
                  data-index={index}
                  className="line"
                  role="row"
                  aria-rowindex={index + 2}
                  style={{ ...tracks, transform: `translateY(${start}px)` }}
                >
                  {columns.map((column) => (
                    // biome-ignore lint/a11y/useSemanticElements: as above
                    <div key={column.id} role="cell">
                      {column.cell(rows[index] as T)}
                    </div>
                  ))}
                </div>
              ))}
            </div>
          </div>
        )}
      </section>
    </>
  );
}

interface HeadProps<T> {
  column: Column<T>;
  sort: string | undefined;
  onSort: ((sort: string) => void) | undefined;
}

function Head<T>({ column, sort, onSort }: HeadProps<T>) {
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
          onClick={() => onSort(direction === "ascending" ? `-${field}` : field)}
        >
          {head}{" "}
          <span aria-hidden="true">{direction === "ascending" ? "▲" : direction === "descending" ? "▼" : "↕"}</span>
        </button>
      ) : (
        head
      )}
    </div>
  );
}
