import { yieldToEventLoop } from "../../lib/clock.ts";
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
import { compileRowWriter, type RowWriter, type UntypedRow } from "./representation.ts";

/** For whom and where rows are shown. */
export interface PresentationContext {
  by: ActorContext;
  query: Query;
  params: Readonly<Record<string, string>>;
  /** The resource's path that was asked for, and the concrete collection in it: `/users/0190…/devices`. */
  place: { path: ResourcePath; collection: string };
}

/** Makes answers of rows; everything is compiled once. */
export interface Presenter {
  presentRow(resource: AnyResource, row: UntypedRow, showing: PresentationContext): Promise<HttpResponse>;
  /** The envelope of the page that the query asks for within `restriction`, of what `sight` (else the caller) sees. Throws CallerError. */
  presentList(
    resource: AnyResource,
    restriction: PageQuery,
    showing: PresentationContext,
    sight?: RowVisibility,
  ): Promise<HttpResponse>;
  /** Where a resource stands by its canonical path, whose placeholders are filled from `ids`. */
  locate(resource: AnyResource, ids: Readonly<Record<string, unknown>>): PresentationContext["place"];
}

interface Compiled {
  write: RowWriter;
  hide: HideReferences;
  embed: Embed;
  listQuery: (query: Query) => ListParameters;
}

const ITEM_METHODS: readonly Method[] = ["get", "put", "delete"];
/** Rows shown in one go; between two the event loop turns. */
const CHUNK_ROWS = 100;
const NO_FILE_URL = undefined;

/** Compiles representations, embeds and list parameters of all declarations. */
export function createPresenter({ catalogue, store, clock }: ApiDeps, base: string): Presenter {
  const isoText = createIsoFormatter();
  const compiled = new Map<string, Compiled>();
  const representationOf = (resource: AnyResource): Pick<Compiled, "write" | "hide"> => of(resource);
  const of = (resource: AnyResource): Compiled => compiled.get(resource.name) as Compiled;
  for (const resource of catalogue.all) {
    compiled.set(resource.name, {
      write: compileRowWriter(resource, isoText),
      hide: compileReferenceHiding(resource, { catalogue, store }),
      embed: compileEmbed(resource, { catalogue, store, clock, representationOf }),
      listQuery: compileListParameters(resource),
    });
  }

  const referenceHiderFor = (scope: AccessScope): PresentContext["hide"] =>
    ((resource: AnyResource, rows: readonly UntypedRow[]) => of(resource).hide(rows, scope)) as PresentContext["hide"];

  async function textsOf(
    resource: AnyResource,
    found: readonly UntypedRow[],
    showing: PresentationContext,
  ): Promise<string[]> {
    const { by, query, params, place } = showing;
    const { write, hide, embed } = of(resource);
    const rows = hide(found, by.scope);
    const present = store.hooksFor(resource).present;
    const embeds = await embed(rows, query, by.scope);
    const permissions = permissionWriter(by, place, changeableIds(resource, found, showing));
    const withUrls = query.includeBinaryUrls === true;
    const texts: string[] = [];
    for (let from = 0; from < rows.length; from += CHUNK_ROWS) {
      if (from > 0) await yieldToEventLoop(clock);
      const slice = rows.slice(from, from + CHUNK_ROWS);
      const extras = present?.(slice as never, {
        reader: store,
        scope: by.scope,
        query,
        params,
        hide: referenceHiderFor(by.scope),
      });
      for (const [at, row] of slice.entries()) {
        const id = itemIdOf(row, place.path);
        const fileUrl = withUrls ? (field: string) => `${base}${place.collection}/${id}/${field}` : NO_FILE_URL;
        const more = embeds[from + at] + permissions(id, row.id);
        texts.push(write(row, { extras: extras?.[at], more, fileUrl }));
      }
    }
    return texts;
  }

  /** Ids of the rows that the acting domain lets change; null for all. A row found through another is not changed by its own paths. */
  function changeableIds(
    resource: AnyResource,
    rows: readonly UntypedRow[],
    { by, place }: PresentationContext,
  ): ReadonlySet<string> | null {
    const changeable = place.path.through || resource.appendOnly ? "all" : by.scope.changeable.visible(resource);
    if (changeable === "all") return null;
    // Mostly each lies in the acting domain or below it, which needs no query.
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
    async presentRow(resource, row, showing) {
      const [text] = await textsOf(resource, [row], showing);
      return { headers: { ETag: rowVersion(row) }, body: text as string };
    },
    async presentList(resource, restriction, showing, sight = showing.by.scope) {
      const wanted = of(resource).listQuery(showing.query);
      const asked = { ...wanted, ...restriction, scope: sight };
      if (wanted.filters && restriction.filters) asked.filters = [...wanted.filters, ...restriction.filters];
      if (restriction.ids) asked.ids = mergeIds(restriction.ids, wanted.ids);
      const isLong = resource.appendOnly && asked.search;
      const page = isLong ? await store.pageInChunks(resource, asked) : store.page(resource, asked);
      return { body: envelope(page, await textsOf(resource, page.rows as unknown as UntypedRow[], showing)) };
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
  const wanted = new Set(others.map((id) => id.toLowerCase()));
  return ids.filter((id) => wanted.has(id.toLowerCase()));
}

function envelope(page: Page<AnyResource>, texts: readonly string[]): string {
  const total = page.total === null ? "" : `"total":${page.total},`;
  const previous = JSON.stringify(page.previous);
  const next = JSON.stringify(page.next);
  return `{${total}"partial":${page.partial},"previous":${previous},"next":${next},"data":[${texts.join()}]}`;
}

/** What stands for a row at the end of its path. */
function itemIdOf(row: UntypedRow, { itemBy }: ResourcePath): string {
  return itemBy && row[itemBy] ? String(row[itemBy]) : row.id;
}

/**
 * The member `permissions` by id: what of get, put and delete the path serves and the user may do there. A grant on all
 * items is found once per page.
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
