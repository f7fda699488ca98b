import type { QueryClient } from "@tanstack/react-query";
import type { ApiClient, RowPage } from "../../api/client.ts";
import type { RowChange } from "../../api/live-feed.ts";
import type { RouteFor, RouteParams, RouteQuery } from "../../api/routes.ts";
import { withFreshRows } from "./list-pages.ts";

/** What `freshen` works on. */
export interface RefreshOptions {
  queries: QueryClient;
  client: Pick<ApiClient, "get">;
}

type Listed = { id: string };
type Readable = RouteFor<"get">;

/** The key of a list: resource, route, its parameters, and the query with its order. */
export type ListKey = readonly [resource: string, route: Readable, RouteParams, RouteQuery];

/** More changed rows than this are not worth asking for one by one. */
const MAX_BY_ID = 100;

/**
 * Refetches what `changes` of a resource affect: of visible lists only the changed rows, by id; after inserts,
 * deletions and moves the visible pages. Everything else is refetched when it becomes visible. Resolves once read.
 */
export async function refreshLists(
  needs: RefreshOptions,
  resource: string,
  changes: readonly RowChange[],
): Promise<void> {
  const { queries } = needs;
  const others = queries.invalidateQueries({
    predicate: ({ queryKey }) => queryKey[0] === resource && !isPage(queryKey),
  });
  const lists = new Map<string, ListKey>();
  for (const { queryKey } of queries
    .getQueryCache()
    .findAll({ predicate: (query) => query.queryKey[0] === resource })) {
    if (isPage(queryKey)) lists.set(JSON.stringify(queryKey.slice(0, 4)), queryKey.slice(0, 4) as unknown as ListKey);
  }
  await Promise.all([others, ...[...lists.values()].map((list) => freshenList(needs, list, changes))]);
}

async function freshenList(needs: RefreshOptions, list: ListKey, changes: readonly RowChange[]): Promise<void> {
  const { queries } = needs;
  const [resource, , params] = list;
  // Changes of deliveries carry the id of their notification.
  const owner = resource === "deliveries" ? params.notificationId : undefined;
  if (owner !== undefined && changes.every(({ id }) => id !== "*" && id !== owner)) return;
  const ids = new Set(changes.map(({ id }) => id));
  const pages = queries.getQueriesData<RowPage<Listed>>({ queryKey: list });
  const known = new Set(pages.flatMap(([, page]) => page?.data.map(({ id }) => id) ?? []));
  const canPatch = changes.every(({ op, id }) => op === "update" && known.has(id)) && ids.size <= MAX_BY_ID;
  const isOnScreen = queries.getQueryCache().findAll({ queryKey: list, type: "active" }).length > 0;
  if (!canPatch || !isOnScreen || !(await patch(needs, list, ids))) await queries.invalidateQueries({ queryKey: list });
}

/** Puts the changed rows in their places; false when they have left them. */
async function patch({ queries, client }: RefreshOptions, list: ListKey, ids: ReadonlySet<string>): Promise<boolean> {
  const [, route, params, query] = list;
  try {
    const fresh = await client.get<RowPage<Listed>>(route, params, { ...query, ids: [...ids], limit: MAX_BY_ID });
    const patched = queries
      .getQueriesData<RowPage<Listed>>({ queryKey: list })
      .map(([key, page]) => ({ key, page, rows: withFreshRows(page?.data ?? [], fresh.data, ids, sortOf(query)) }));
    for (const { key, page, rows } of patched) if (page && rows) queries.setQueryData(key, { ...page, data: rows });
    return patched.every(({ rows }) => rows !== null);
  } catch {
    return false;
  }
}

function isPage(key: readonly unknown[]): boolean {
  return key[4] === "page";
}

function sortOf(query: RouteQuery): string {
  return typeof query.sort === "string" ? query.sort : "createdAt";
}
