import type { SentenceReader } from "../../lib/sentences/registry.ts";
import type { Catalogue } from "../../schema/catalogue.ts";
import type { AnyResource } from "../../schema/resource.ts";
import type { AccessScope, PresentContext, Store } from "../../store/store.ts";
import type { Query } from "../query/query.ts";
import type { HideReferences } from "./hidden-references.ts";
import { presentRows } from "./present-rows.ts";
import type { RowWriter, UntypedRow } from "./representation.ts";

/** Related rows of a page, as JSON members per row in page order. */
export type Embed = (rows: readonly UntypedRow[], query: Query, scope: AccessScope) => Promise<string[]>;

interface Relation {
  field: string;
  many: boolean;
  /** Null if the family is not declared: there are no related rows. */
  target: AnyResource | null;
  /** `,"distributionLists":` */
  key: string;
  /** `includeDistributionLists` */
  flag: string;
  /** Flag that omits it when true; empty for none. */
  unless: string;
}

/** Rows read and written per event loop turn. */
const CHUNK_ROWS = 100;

/**
 * Compiles the embedding of related rows for ref and many fields with `embed`: one query per relation and chunk of
 * 100 ids, never one per row. Related rows are embedded without their own relations, computed lists and
 * `permissions`. Relations are embedded unless `include<Name>=false`. Lists contain only rows visible to the caller;
 * a single related row is part of the row and is embedded regardless of permissions (such as the answers of a
 * notification), unless the acting domain hides it.
 */
export function compileEmbed(
  resource: AnyResource,
  deps: {
    catalogue: Catalogue;
    store: Store;
    sentences: SentenceReader;
    /** Resolves in the next turn of the event loop that belongs to this work. */
    nextTurn(): Promise<void>;
    representationOf(resource: AnyResource): { write: RowWriter; hide: HideReferences };
  },
): Embed {
  const relations = relationsOf(resource, deps.catalogue);
  const withDomain = resource.scope === "domain" && deps.catalogue.has("domains");
  const textsOf = createRelatedReader(deps);
  return async (rows, query, scope) => {
    const texts = rows.map(() => "");
    for (const relation of relations) {
      if (query[relation.flag] === false || query[relation.unless] === "true") continue;
      await addRelation(texts, rows, relation, scope, textsOf);
    }
    if (withDomain && query.includeDomain === true) {
      const relation = {
        field: "domainId",
        many: false,
        target: deps.catalogue.byName("domains"),
        key: ',"domain":',
        ...{ flag: "", unless: "" },
      };
      await addRelation(texts, rows, relation, scope, textsOf);
    }
    return texts;
  };
}

/** Rows of `target` as JSON by id; with `visibleOnly` only those visible to the scope. */
type RelatedTexts = (
  target: AnyResource,
  ids: readonly string[],
  scope: AccessScope,
  visibleOnly: boolean,
) => Promise<Map<string, string>>;

async function addRelation(
  texts: string[],
  rows: readonly UntypedRow[],
  { field, many, target, key }: Relation,
  scope: AccessScope,
  textsOf: RelatedTexts,
): Promise<void> {
  const idsOf = (row: UntypedRow): readonly string[] =>
    many ? (row[field] as string[]) : row[field] ? [row[field] as string] : [];
  const ids = [...new Set(rows.flatMap(idsOf))];
  const related = target ? await textsOf(target, ids, scope, many) : new Map<string, string>();
  rows.forEach((row, at) => {
    const found = idsOf(row).flatMap((id) => related.get(id) ?? []);
    texts[at] += key + (many ? `[${found.join()}]` : (found[0] ?? "null"));
  });
}

/** Reads related rows by id and serializes each once. */
function createRelatedReader({
  store,
  sentences,
  nextTurn,
  representationOf,
}: {
  store: Store;
  sentences: SentenceReader;
  /** Resolves in the next turn of the event loop that belongs to this work. */
  nextTurn(): Promise<void>;
  representationOf(resource: AnyResource): { write: RowWriter; hide: HideReferences };
}): RelatedTexts {
  /** A single row needs no page query. */
  const rowsOf = (
    target: AnyResource,
    ids: readonly string[],
    seen: { scope?: AccessScope },
  ): readonly UntypedRow[] => {
    const [id = ""] = ids;
    if (ids.length > 1)
      return store.page(target, { ids, limit: CHUNK_ROWS, includeTotal: false, ...seen })
        .rows as unknown as UntypedRow[];
    const row = store.get(target, id, seen.scope) as UntypedRow | null;
    return row ? [row] : [];
  };
  return async (target, ids, scope, visibleOnly) => {
    const texts = new Map<string, string>();
    const { write, hide } = representationOf(target);
    const hideIn: PresentContext["hide"] = ((resource: AnyResource, related: readonly UntypedRow[]) =>
      representationOf(resource).hide(related, scope)) as PresentContext["hide"];
    for (let from = 0; from < ids.length; from += CHUNK_ROWS) {
      if (from > 0) await nextTurn();
      const chunk = ids.slice(from, from + CHUNK_ROWS);
      const rows = hide(rowsOf(target, chunk, visibleOnly ? { scope } : {}), scope);
      // The `present` hook may hide stored values (such as plugin secrets), so it also runs for related rows.
      const extras = presentRows(target, rows, store, {
        reader: store,
        sentences,
        scope,
        query: {},
        params: {},
        hide: hideIn,
        isNested: true,
      });
      rows.forEach((row, at) => {
        texts.set(row.id, write(row, { extras: plainExtras(target, extras?.[at]) }));
      });
    }
    return texts;
  };
}

function plainExtras(
  target: AnyResource,
  extras: Readonly<Record<string, unknown>> | undefined,
): Readonly<Record<string, unknown>> {
  const entries = Object.entries(extras ?? {}).filter(([name]) => {
    const field = target.fields[name];
    return field !== undefined && !(field.kind === "computed" && field.type === "array");
  });
  return Object.fromEntries(entries);
}

function relationsOf(resource: AnyResource, catalogue: Catalogue): Relation[] {
  const relations: Relation[] = [];
  for (const [field, spec] of Object.entries(resource.fields)) {
    if ((spec.kind !== "ref" && spec.kind !== "many") || !spec.embed) continue;
    const flag = `include${spec.embed[0]?.toUpperCase()}${spec.embed.slice(1)}`;
    const key = `,${JSON.stringify(spec.embed)}:`;
    const target = catalogue.has(spec.to) ? catalogue.byName(spec.to) : null;
    const unless = spec.embedUnless ?? "";
    relations.push({ field, many: spec.kind === "many", target, key, flag, unless });
  }
  return relations;
}
