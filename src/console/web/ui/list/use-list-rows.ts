import { useQueries, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import type { RowPage } from "../../api/client.ts";
import { useTrackedQuery } from "../../api/page-queries.ts";
import { ROUTES, type RouteFor, type RouteParams, type RouteQuery } from "../../api/routes.ts";
import { useConsole } from "../../console-context.tsx";
import { PAGE_ROWS, pagesAround } from "./list-pages.ts";
import type { ListKey } from "./refresh-lists.ts";

/** A list of any length, of which only the pages in sight are read. */
export interface ListRows<T> {
  /** Rows in all; null until it is known. */
  total: number | null;
  /** The row at a place of the order; undefined until it is read. */
  rowAt(index: number): T | undefined;
  /** What is shown is not yet what was asked for. */
  isBusy: boolean;
  error: unknown;
}

interface ListAsk {
  route: RouteFor<"get">;
  params: RouteParams;
  /** Filters, search and order. */
  query: RouteQuery;
  /** The rows in sight. */
  first: number;
  last: number;
}

/** A page that is passed in less time, as when the scroll bar is dragged, is not read. */
const SETTLED_MS = 60;
/** A page out of sight is forgotten after a while: a hundred thousand rows would fill the browser. */
const CACHED_MS = 30_000;

/**
 * Reads the pages around the rows in sight. Each page is entered by its place (`skip`), so that the scroll bar may jump
 * anywhere; the pages between are never read. While another search is read, the rows of the last one stay.
 */
export function useListRows<T>({ route, params, query, first, last }: ListAsk): ListRows<T> {
  const { client } = useConsole();
  const queries = useQueryClient();
  const list: ListKey = [ROUTES[route].resource, route, params, query];
  const name = JSON.stringify(list);
  const known = useRef<{ name: string; total: number }>({ name: "", total: 0 });
  const count = known.current.name === name ? known.current.total : 1;
  const wanted = useSettled(pagesAround(Math.min(first, count - 1), Math.min(last, count - 1), count), name);
  const pages = useQueries({
    queries: wanted.map((page) => ({
      queryKey: [...list, "page", page],
      queryFn: () => client.get<RowPage<T>>(route, params, { ...query, limit: PAGE_ROWS, skip: page * PAGE_ROWS }),
      gcTime: CACHED_MS,
    })),
  });
  const shown = useRef<{ list: ListKey; total: number } | null>(null);
  const newest = pages.reduce(
    (best, each) => (each.dataUpdatedAt > (best?.dataUpdatedAt ?? 0) ? each : best),
    pages[0],
  );
  if (newest?.data) {
    known.current = { name, total: newest.data.total };
    shown.current = { list, total: newest.data.total };
  }
  const error = pages.find((each) => each.error)?.error ?? null;
  const now = shown.current;
  const latest = useRef(pages);
  latest.current = pages;
  const refetch = useCallback(() => latest.current.forEach((each) => void (each.error && each.refetch())), []);
  const isBusy = newest?.data === undefined && error === null;
  useTrackedQuery({ isLoading: isBusy && now === null, error, refetch });
  return {
    total: now?.total ?? null,
    rowAt(index) {
      const page = [...(now?.list ?? list), "page", Math.floor(index / PAGE_ROWS)];
      return queries.getQueryData<RowPage<T>>(page)?.data[index % PAGE_ROWS];
    },
    isBusy,
    error,
  };
}

/** The pages wanted, once they have been so for a moment; at once when the list is another. */
function useSettled(wanted: number[], name: string): number[] {
  const { clock } = useConsole();
  const [settled, setSettled] = useState({ wanted, name });
  const text = wanted.join();
  useEffect(() => {
    const timer = clock.after(SETTLED_MS, () => setSettled({ wanted: text.split(",").map(Number), name }));
    return () => timer.cancel();
  }, [clock, text, name]);
  return settled.name === name ? settled.wanted : wanted;
}
