import { createTurnQueue } from "../../lib/clock.ts";
import type { HttpResponse } from "../../lib/http-response.ts";
import { canonicalPath, methodsOf, pathParams } from "../../schema/catalogue.ts";
import type { AnyResource, Method, ResourcePath } from "../../schema/resource.ts";
import type { AccessScope, ActorContext, Page, PageQuery, PresentContext, RowVisibility } from "../../store/store.ts";
import { filterVisibleIds } from "../../store/visible-ids.ts";
import type { ApiDeps } from "../dependencies.ts";
import { rowVersion } from "../etag.ts";
import { createIsoFormatter } from "../iso-timestamp.ts";
import { compileListParameters, type ListParameters } from "../query/list-query.ts";
import type { Query } from "../query/query.ts";
import { compileEmbed, type Embed } from "./embeds.ts";
import { compileReferenceHiding, type HideReferences } from "./hidden-references.ts";
import { presentRows } from "./present-rows.ts";
import { compileRowWriter, type RowWriter, type UntypedRow } from "./representation.ts";

/** Caller, query and path of a presentation. */
export interface PresentationContext {
  by: ActorContext;
  query: Query;
  params: Readonly<Record<string, string>>;
  /** The requested path of the resource and the concrete collection: `/users/0190…/devices`. */
  place: { path: ResourcePath; collection: string };
}

/** Renders responses from rows; everything is compiled once. */
export interface Presenter {
  presentRow(resource: AnyResource, row: UntypedRow, context: PresentationContext): Promise<HttpResponse>;
  /**
   * The requested page within `restriction`, limited to rows visible to `visibility` (default: the caller). Throws
   * CallerError.
   */
  presentList(
    resource: AnyResource,
    restriction: PageQuery,
    context: PresentationContext,
    visibility?: RowVisibility,
  ): Promise<HttpResponse>;
  /** The canonical place of a resource, with placeholders filled from `ids`. */
  locate(resource: AnyResource, ids: Readonly<Record<string, unknown>>): PresentationContext["place"];
}

interface Compiled {
  write: RowWriter;
  hide: HideReferences;
  embed: Embed;
  listQuery: (query: Query) => ListParameters;
}

const ITEM_METHODS: readonly Method[] = ["get", "put", "delete"];
/** Rows presented per event loop turn. */
const CHUNK_ROWS = 100;
const NO_FILE_URL = undefined;

/** Compiles representations, embeds and list parameters of all resources. */
export function createPresenter({ catalogue, store, clock, plugins: { sentences } }: ApiDeps, base: string): Presenter {
  const isoText = createIsoFormatter();
  const nextTurn = createTurnQueue(clock);
  const compiled = new Map<string, Compiled>();
  const representationOf = (resource: AnyResource): Pick<Compiled, "write" | "hide"> => of(resource);
  const of = (resource: AnyResource): Compiled => compiled.get(resource.name) as Compiled;
  for (const resource of catalogue.all) {
    compiled.set(resource.name, {
      write: compileRowWriter(resource, isoText),
      hide: compileReferenceHiding(resource, { catalogue, store }),
      embed: compileEmbed(resource, { catalogue, store, sentences, nextTurn, representationOf }),
      listQuery: compileListParameters(resource),
    });
  }

  const referenceHiderFor = (scope: AccessScope): PresentContext["hide"] =>
    ((resource: AnyResource, rows: readonly UntypedRow[]) => of(resource).hide(rows, scope)) as PresentContext["hide"];

  async function textsOf(
    resource: AnyResource,
    found: readonly UntypedRow[],
    context: PresentationContext,
  ): Promise<string[]> {
    const { by, query, params, place } = context;
    const { write, hide, embed } = of(resource);
    const rows = hide(found, by.scope);
    const embeds = await embed(rows, query, by.scope);
    const permissions = permissionWriter(by, place, changeableIds(resource, found, context));
    const withUrls = query.includeBinaryUrls === true;
    const texts: string[] = [];
    for (let from = 0; from < rows.length; from += CHUNK_ROWS) {
      if (from > 0) await nextTurn();
      const chunk = rows.slice(from, from + CHUNK_ROWS);
      const extras = presentRows(resource, chunk, store, {
        reader: store,
        sentences,
        scope: by.scope,
        query,
        params,
        hide: referenceHiderFor(by.scope),
      });
      for (const [at, row] of chunk.entries()) {
        const id = itemIdOf(row, place.path);
        const fileUrl = withUrls ? (field: string) => `${base}${place.collection}/${id}/${field}` : NO_FILE_URL;
        const more = embeds[from + at] + permissions(id, row.id);
        texts.push(write(row, { extras: extras?.[at], more, fileUrl }));
      }
    }
    return texts;
  }

  /**
   * Ids of the rows that the acting domain may change; null for all. Rows found through another resource are not
   * changed through their own paths.
   */
  function changeableIds(
    resource: AnyResource,
    rows: readonly UntypedRow[],
    { by, place }: PresentationContext,
  ): ReadonlySet<string> | null {
    const changeable = place.path.through || resource.appendOnly ? "all" : by.scope.changeable.visible(resource);
    if (changeable === "all") return null;
    // Usually all are within the acting domain, which needs no query.
    const isWithin = ({ domainId }: UntypedRow): boolean =>
      typeof domainId === "string" && by.scope.canAssign(domainId);
    if (resource.scope === "domain" && rows.every(isWithin)) return null;
    return filterVisibleIds(
      store,
      resource,
      rows.map(({ id }) => id),
      changeable,
    );
  }

  return {
    async presentRow(resource, row, context) {
      const [text] = await textsOf(resource, [row], context);
      return { headers: { ETag: rowVersion(row) }, body: text as string };
    },
    async presentList(resource, restriction, context, visibility = context.by.scope) {
      const parameters = of(resource).listQuery(context.query);
      const pageQuery = { ...parameters, ...restriction, scope: visibility };
      if (parameters.filters && restriction.filters)
        pageQuery.filters = [...parameters.filters, ...restriction.filters];
      if (restriction.ids) pageQuery.ids = mergeIds(restriction.ids, parameters.ids);
      const page = await store.pageInChunks(resource, pageQuery);
      return { body: envelope(page, await textsOf(resource, page.rows as unknown as UntypedRow[], context)) };
    },
    locate(resource, ids) {
      const path = canonicalPath(resource);
      const collection = pathParams(path).reduce((at, name) => at.replace(`{${name}}`, String(ids[name])), path.at);
      return { path, collection: `/${collection}` };
    },
  };
}

function mergeIds(ids: readonly string[], others: readonly string[] | undefined): readonly string[] {
  if (!others) return ids;
  const parameters = new Set(others.map((id) => id.toLowerCase()));
  return ids.filter((id) => parameters.has(id.toLowerCase()));
}

function envelope(page: Page<AnyResource>, texts: readonly string[]): string {
  const total = page.total === null ? "" : `"total":${page.total},`;
  const previous = JSON.stringify(page.previous);
  const next = JSON.stringify(page.next);
  return `{${total}"partial":${page.partial},"previous":${previous},"next":${next},"data":[${texts.join()}]}`;
}

/** Last path segment of a row. */
function itemIdOf(row: UntypedRow, { itemBy }: ResourcePath): string {
  return itemBy && row[itemBy] ? String(row[itemBy]) : row.id;
}

/**
 * Writes `permissions` of a row: the subset of get, put and delete that the path supports and the user may perform. A
 * grant on all items is checked once per page.
 */
function permissionWriter(
  { scope }: ActorContext,
  { path, collection }: PresentationContext["place"],
  changeable: ReadonlySet<string> | null,
): (id: string, rowId: string) => string {
  const served = ITEM_METHODS.filter((method) => methodsOf(path).includes(method));
  const always = served.filter((method) => scope.allows(method, `${collection}/*`));
  const allowed = (id: string): readonly Method[] =>
    always.length === served.length
      ? served
      : served.filter((method) => always.includes(method) || scope.allows(method, `${collection}/${id}`));
  if (changeable === null && always.length === served.length) {
    const text = permissionText(served);
    return () => text;
  }
  return (id, rowId) => {
    const changes = changeable === null || changeable.has(rowId);
    return permissionText(allowed(id).filter((method) => changes || method === "get"));
  };
}

function permissionText(methods: readonly Method[]): string {
  return methods.length === 0 ? ',"permissions":[]' : `,"permissions":["${methods.join('","')}"]`;
}
