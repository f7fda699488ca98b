import { type Clock, yieldToEventLoop } from "../../lib/clock.ts";
import type { Field } from "../../schema/field.ts";
import type { AnyResource, RowOf } from "../../schema/resource.ts";
import type { ActorContext, Page, PageQuery, Store } from "../../store/store.ts";
import type { Query } from "../query/query.ts";

/** A table cell; timestamps are ISO strings. */
export type ReportCell = string | number | boolean | null;

/** Dependencies of the reports. */
export interface ReportDeps {
  store: Store;
  clock: Clock;
  by: ActorContext;
}

/** Rows of one resource in a report. */
export interface ReportSource<R extends AnyResource = AnyResource> {
  resource: R;
  restriction: Pick<PageQuery, "filters" | "within" | "through">;
  /** Lines of a page of rows, in order; rows excluded by the query yield none. Must not query per row. */
  lines(rows: readonly RowOf<R>[]): ReportCell[][];
}

/** A report. */
export interface ReportDefinition {
  id: string;
  name: string;
  description: string;
  columns: readonly string[];
  /** Filter parameters. */
  query: Readonly<Record<string, Field>>;
  /** Sources of the lines, in order. Throws CallerError for invalid parameters. */
  sources(query: Query, deps: ReportDeps): ReportSource[];
}

/** Rows per event loop turn. */
const CHUNK_ROWS = 200;

/** Lines of a report visible to the caller, in chunks between which it yields to the event loop; each row once. */
export async function* reportLines(
  sources: readonly ReportSource[],
  { store, clock, by }: ReportDeps,
): AsyncGenerator<ReportCell[][]> {
  const seen = sources.length > 1 ? new Set<string>() : null;
  for (const { resource, restriction, lines } of sources) {
    let start: string | null = "";
    while (start !== null) {
      const page: Page<AnyResource> = store.page(resource, {
        ...restriction,
        ...(start === "" ? {} : { start }),
        ...{ limit: CHUNK_ROWS, includeTotal: false, scope: by.scope },
      });
      const fresh = seen ? page.rows.filter(({ id }) => !seen.has(id)) : page.rows;
      for (const { id } of fresh) seen?.add(id);
      yield lines(fresh);
      start = page.next;
      await yieldToEventLoop(clock);
    }
  }
}

/** Erases the row type, which a list of sources cannot keep. */
export function reportSource<R extends AnyResource>(given: ReportSource<R>): ReportSource {
  return given as unknown as ReportSource;
}

/** Epoch ms as ISO text. */
export function isoText(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
