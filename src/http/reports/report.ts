import { type Clock, yieldToEventLoop } from "../../lib/clock.ts";
import type { Field } from "../../schema/field.ts";
import type { AnyResource, RowOf } from "../../schema/resource.ts";
import type { ActorContext, Page, PageQuery, Store } from "../../store/store.ts";
import type { Query } from "../query/query.ts";

/** A value in a table: times as ISO texts. */
export type ReportCell = string | number | boolean | null;

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

/** One kind of report. */
export interface ReportDefinition {
  id: string;
  name: string;
  description: string;
  columns: readonly string[];
  /** Query parameters that narrow it. */
  query: Readonly<Record<string, Field>>;
  /** Where its lines come from, in order. Throws CallerError for parameters that are wrong. */
  sources(query: Query, deps: ReportDeps): ReportSource[];
}

/** Rows of one slice: some ms of the event loop. */
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

/** Forgets the row type, which a list of sources can't keep. */
export function reportSource<R extends AnyResource>(given: ReportSource<R>): ReportSource {
  return given as unknown as ReportSource;
}

/** Epoch ms as ISO text. */
export function isoText(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
