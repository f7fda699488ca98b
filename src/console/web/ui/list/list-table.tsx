import { useMediaQuery } from "@mantine/hooks";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type CSSProperties, memo, type ReactNode, useEffect, useRef, useState } from "react";
import type { RouteFor, RouteParams, RouteQuery } from "../../api/routes.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { usePendingRemovalIds } from "../use-removal.ts";
import type { Column } from "./column.ts";
import { ListError } from "./list-error.tsx";
import { TableHead } from "./table-head.tsx";
import { useListRows } from "./use-list-rows.ts";
import "./list.css";

interface ListTableProps<T> {
  label: string;
  route: RouteFor<"get">;
  params?: RouteParams;
  query?: RouteQuery;
  columns: readonly Column<T>[];
  sort?: string | undefined;
  onSort?(sort: string): void;
  /** A click anywhere on the row; keys use what the first cell holds. */
  onOpen?(row: T): void;
  /** Stands in the place of rows when there are none. */
  empty: ReactNode;
}

const NARROW = "(max-width: 48rem)";
const LINE_PX = { wide: 45, narrow: 100 };
/** Maximum search results: reading any page requires all earlier ones, and more results are not useful. */
const MAX_FOUND = 2_000;
const NO_PARAMS: RouteParams = {};

/** A table of any length: only the rows on the screen are in the page, only the pages in sight are read. */
export function ListTable<T extends { id: string }>(props: ListTableProps<T>) {
  const { label, route, params = NO_PARAMS, query = {}, columns, sort, onSort, onOpen, empty } = props;
  const { t } = useTranslation();
  const linePx = useMediaQuery(NARROW) ? LINE_PX.narrow : LINE_PX.wide;
  const [count, setCount] = useState(0);
  const scroller = useRef<HTMLElement>(null);
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => linePx,
    overscan: 6,
  });
  const items = virtual.getVirtualItems();
  const asked = sort ? { ...query, sort } : query;
  const list = useListRows<T>({
    ...{ route, params, query: asked },
    ...{ first: items[0]?.index ?? 0, last: items.at(-1)?.index ?? 0 },
  });
  const most = query.q ? MAX_FOUND : Number.POSITIVE_INFINITY;
  const shown = Math.min(list.total ?? 0, most);
  if (shown !== count) setCount(shown);
  const name = JSON.stringify([route, params, asked]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another list, or other lines, begin at the top
  useEffect(() => {
    virtual.measure();
    scroller.current?.scrollTo(0, 0);
  }, [virtual, name, linePx]);
  if (list.error && list.total === null) return <ListError error={list.error} />;
  const tracks = { "--tracks": columns.map(({ width }) => width).join(" ") } as CSSProperties;
  return (
    <>
      {list.error ? <ListError error={list.error} /> : null}
      <p className="soft list-count" role="status">
        {list.total === null ? t("page.reading") : t("table.count", { count: list.total })}
        {(list.total ?? 0) > most && ` ${t("table.most", { count: most })}`}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <section className="table" ref={scroller} tabIndex={0} aria-label={label} aria-busy={list.isBusy}>
        {list.total === 0 && !list.isBusy ? (
          <div className="list-empty">{empty}</div>
        ) : (
          // biome-ignore lint/a11y/useSemanticElements: rows stand freely, which those of a table element can't
          <div role="table" aria-label={label} aria-rowcount={shown + 1} style={tracks}>
            <TableHead columns={columns} sort={sort} onSort={onSort} />
            {list.total === null ? (
              <Waiting columns={columns.length} />
            ) : (
              // biome-ignore lint/a11y/useSemanticElements: as above
              <div className="body" role="rowgroup" style={{ height: virtual.getTotalSize() }}>
                {items.map(({ index, start }) => (
                  <Line key={index} {...{ index, start, columns, onOpen }} row={list.rowAt(index)} height={linePx} />
                ))}
              </div>
            )}
          </div>
        )}
      </section>
    </>
  );
}

interface LineProps<T> {
  index: number;
  start: number;
  height: number;
  columns: readonly Column<T>[];
  /** Undefined until it is read. */
  row: T | undefined;
  onOpen: ((row: T) => void) | undefined;
}

/** One row; drawn again only when the row itself is another, so that scrolling draws what comes into sight alone. */
const Line = memo(function Line<T>({ index, start, height, columns, row, onOpen }: LineProps<T>) {
  const gone = usePendingRemovalIds();
  const isLeaving = row !== undefined && gone.has((row as { id: string }).id);
  const style = { height, transform: `translateY(${start}px)` };
  const open = (target: EventTarget) => {
    const isOwn = target instanceof Element && target.closest("a, button, input") !== null;
    if (row && onOpen && !isOwn && getSelection()?.isCollapsed !== false) onOpen(row);
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: rows stand freely
    // biome-ignore lint/a11y/useFocusableInteractive: the first cell is what keys use
    <div
      className={isLeaving ? "line leaving" : "line"}
      role="row"
      aria-rowindex={index + 2}
      style={style}
      {...(onOpen ? { "data-opens": true, onClick: (event: React.MouseEvent) => open(event.target) } : {})}
    >
      {columns.map((column) => {
        const content = row === undefined ? <span className="waiting" /> : column.cell(row);
        return (
          // biome-ignore lint/a11y/useSemanticElements: rows stand freely
          <div
            key={column.id}
            role="cell"
            {...(column.side || column.wraps ? { className: column.side ? "side" : "wraps" } : {})}
            {...(column.named ? { "data-head": column.head } : {})}
            {...(typeof content === "string" ? { title: content } : {})}
          >
            {content}
          </div>
        );
      })}
    </div>
  );
}) as <T>(props: LineProps<T>) => ReactNode;

const WAITING_LINES = [0, 1, 2, 3, 4, 5];

/** The shape of rows that are about to come. */
function Waiting({ columns }: { columns: number }) {
  return (
    <div aria-hidden="true">
      {WAITING_LINES.map((line) => (
        <div key={line} className="line">
          {Array.from({ length: columns }, (_, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike
            <span key={at} className="waiting" />
          ))}
        </div>
      ))}
    </div>
  );
}
