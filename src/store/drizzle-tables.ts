import { type SQL, sql } from "drizzle-orm/sql";
import { integer } from "drizzle-orm/sqlite-core/columns/integer";
import { real } from "drizzle-orm/sqlite-core/columns/real";
import { text } from "drizzle-orm/sqlite-core/columns/text";
import { type SQLiteTable, sqliteTable } from "drizzle-orm/sqlite-core/table";
import { BugError } from "../lib/errors.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { AnyResource } from "../schema/resource.ts";
import { buildTableLayout, type TableLayout } from "./table-layout.ts";

/** Table layouts and drizzle tables of all declarations. */
export interface Tables {
  readonly catalogue: Catalogue;
  readonly layouts: readonly TableLayout[];
  layout(resource: AnyResource): TableLayout;
  /** The drizzle table with this name, of a resource or a link table. */
  table(name: string): SQLiteTable;
  /** Name of the column that holds a row's home domain; null when the resource is not scoped to a domain. */
  domainColumn(layout: TableLayout): "domain_pk" | null;
}

/** Builds the drizzle tables of all declarations, once at start. */
export function buildTables(catalogue: Catalogue): Tables {
  const layouts = catalogue.all.map((resource) => buildTableLayout(resource, catalogue));
  const byResource = new Map(layouts.map((layout) => [layout.resource.name, layout]));
  const tables = new Map<string, SQLiteTable>();
  const domainColumn = (layout: TableLayout): "domain_pk" | null =>
    layout.resource.scope === "domain" && catalogue.has("domains") ? "domain_pk" : null;
  for (const layout of layouts) {
    tables.set(layout.table, buildResourceTable(layout, domainColumn(layout) !== null));
    for (const link of layout.links) tables.set(link.table, buildLinkTable(link.table));
  }
  return {
    catalogue,
    layouts,
    domainColumn,
    layout(resource) {
      const layout = byResource.get(resource.name);
      if (!layout) throw new BugError(`resource ${resource.name} is not part of this store`);
      return layout;
    },
    table(name) {
      const table = tables.get(name);
      if (!table) throw new BugError(`no table ${name}`);
      return table;
    },
  };
}

function buildResourceTable(layout: TableLayout, inDomain: boolean): SQLiteTable {
  const columns = {
    pk: integer("pk").primaryKey(),
    id: text("id").notNull(),
    created_at: integer("created_at").notNull(),
    updated_at: integer("updated_at").notNull(),
    ...(inDomain ? { domain_pk: integer("domain_pk"), also_in: text("also_in") } : {}),
    ...Object.fromEntries(
      layout.columns.map((column) => [
        column.name,
        column.type === "TEXT"
          ? text(column.name)
          : column.type === "INTEGER"
            ? integer(column.name)
            : real(column.name),
      ]),
    ),
  };
  return sqliteTable(layout.table, columns);
}

function buildLinkTable(name: string): SQLiteTable {
  return sqliteTable(name, {
    owner: integer("owner").notNull(),
    position: integer("position").notNull(),
    target: integer("target").notNull(),
  });
}

/** Raw SQL with `?` turned into the named placeholders `<prefix>0`, `<prefix>1` …, in order. */
export function withPlaceholders(rawSql: string, prefix: string): SQL {
  const parts = rawSql.split("?");
  const chunks: SQL[] = [];
  parts.forEach((part, at) => {
    chunks.push(sql.raw(part));
    if (at < parts.length - 1) chunks.push(sql`${sql.placeholder(`${prefix}${at}`)}`);
  });
  return sql.join(chunks);
}
