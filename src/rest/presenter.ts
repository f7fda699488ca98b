import { nextTurn } from "../base/clock.ts";
import { canonicalPath, methodsOf, pathParams } from "../schema/catalogue.ts";
import type { AnyResource, Method, ResourcePath } from "../schema/resource.ts";
import { idsUnder } from "../store/ids-under.ts";
import type { By, Page, PageQuery, PresentContext, Scope, Sight } from "../store/store.ts";
import type { Answer } from "./action.ts";
import { compileEmbed, type Embed } from "./embeds.ts";
import { etagOf } from "./etag.ts";
import { compileHiding, type HideReferences } from "./hidden-references.ts";
import { createIsoText } from "./iso-text.ts";
import { compileListQuery, type ListQuery } from "./list-query.ts";
import type { ApiNeeds } from "./needs.ts";
import type { Query } from "./query.ts";
import { compileRepresentation, type Representation, type Row } from "./representation.ts";

/** For whom and where rows are shown. */
export interface Showing {
  by: By;
  query: Query;
  params: Readonly<Record<string, string>>;
  /** The resource's path that was asked for, and the concrete collection in it: `/users/0190…/devices`. */
  place: { path: ResourcePath; collection: string };
}

/** Makes answers of rows; everything is compiled once. */
export interface Presenter {
  show(resource: AnyResource, row: Row, showing: Showing): Promise<Answer>;
  /** The envelope of the page that the query asks for within `restriction`, of what `sight` (else the caller) sees. Throws CallerError. */
  list(resource: AnyResource, restriction: PageQuery, showing: Showing, sight?: Sight): Promise<Answer>;
  /** Where a resource stands by its canonical path, whose placeholders are filled from `ids`. */
  placeOf(resource: AnyResource, ids: Readonly<Record<string, unknown>>): Showing["place"];
}

interface Compiled {
  write: Representation;
  hide: HideReferences;
  embed: Embed;
  listQuery: (query: Query) => ListQuery;
}

const ITEM_METHODS: readonly Method[] = ["get", "put", "delete"];
/** Rows shown in one go; between two the event loop turns. */
const SLICE = 100;
const NO_FILE_URL = undefined;

/** Compiles representations, embeds and list parameters of all declarations. */
export function createPresenter({ catalogue, store, clock }: ApiNeeds, base: string): Presenter {
  const isoText = createIsoText();
  const compiled = new Map<string, Compiled>();
  const representationOf = (resource: AnyResource): Pick<Compiled, "write" | "hide"> => of(resource);
  const of = (resource: AnyResource): Compiled => compiled.get(resource.name) as Compiled;
  for (const resource of catalogue.all) {
    compiled.set(resource.name, {
      write: compileRepresentation(resource, isoText),
      hide: compileHiding(resource, { catalogue, store }),
      embed: compileEmbed(resource, { catalogue, store, clock, representationOf }),
      listQuery: compileListQuery(resource),
    });
  }

  const hiddenFrom = (scope: Scope): PresentContext["hide"] =>
    ((resource: AnyResource, rows: readonly Row[]) => of(resource).hide(rows, scope)) as PresentContext["hide"];

  async function textsOf(resource: AnyResource, found: readonly Row[], showing: Showing): Promise<string[]> {
    const { by, query, params, place } = showing;
    const { write, hide, embed } = of(resource);
    const rows = hide(found, by.scope);
    const present = store.behaviourOf(resource).present;
    const embeds = await embed(rows, query, by.scope);
    const permissions = permissionWriter(by, place, changeableOf(resource, found, showing));
    const withUrls = query.includeBinaryUrls === true;
    const texts: string[] = [];
    for (let from = 0; from < rows.length; from += SLICE) {
      if (from > 0) await nextTurn(clock);
      const slice = rows.slice(from, from + SLICE);
      const extras = present?.(slice as never, {
        reader: store,
        scope: by.scope,
        query,
        params,
        hide: hiddenFrom(by.scope),
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
  function changeableOf(
    resource: AnyResource,
    rows: readonly Row[],
    { by, place }: Showing,
  ): ReadonlySet<string> | null {
    const changeable = place.path.through || resource.facts ? "all" : by.scope.changeable.visible(resource);
    if (changeable === "all") return null;
    // Mostly each lies in the acting domain or below it, which needs no query.
    const isWithin = ({ domainId }: Row): boolean => typeof domainId === "string" && by.scope.holds(domainId);
    if (resource.scope === "domain" && rows.every(isWithin)) return null;
    return idsUnder(
      store,
      resource,
      rows.map(({ id }) => id),
      changeable,
    );
  }

  return {
    async show(resource, row, showing) {
      const [text] = await textsOf(resource, [row], showing);
      return { headers: { ETag: etagOf(row) }, body: text as string };
    },
    async list(resource, restriction, showing, sight = showing.by.scope) {
      const wanted = of(resource).listQuery(showing.query);
      const asked = { ...wanted, ...restriction, scope: sight };
      if (wanted.filters && restriction.filters) asked.filters = [...wanted.filters, ...restriction.filters];
      if (restriction.ids) asked.ids = bothOf(restriction.ids, wanted.ids);
      const isLong = resource.facts && asked.search;
      const page = isLong ? await store.pageOfFacts(resource, asked) : store.page(resource, asked);
      return { body: envelope(page, await textsOf(resource, page.rows as unknown as Row[], showing)) };
    },
    placeOf(resource, ids) {
      const path = canonicalPath(resource);
      const collection = pathParams(path).reduce((at, name) => at.replace(`{${name}}`, String(ids[name])), path.at);
      return { path, collection: `/${collection}` };
    },
  };
}

function bothOf(ids: readonly string[], others: readonly string[] | undefined): readonly string[] {
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
function itemIdOf(row: Row, { itemBy }: ResourcePath): string {
  return itemBy && row[itemBy] ? String(row[itemBy]) : row.id;
}

/**
 * The member `permissions` by id: what of get, put and delete the path serves and the user may do there. A grant on all
 * items is found once per page.
 */
function permissionWriter(
  { scope }: By,
  { path, collection }: Showing["place"],
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
