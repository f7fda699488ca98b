import { BugError } from "../lib/errors.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { AnyResource } from "../schema/resource.ts";
import { buildTableLayout, type TableLayout } from "./table-layout.ts";

/** Table layouts of all declarations. */
export interface Tables {
  readonly catalogue: Catalogue;
  readonly layouts: readonly TableLayout[];
  layout(resource: AnyResource): TableLayout;
  /** Name of the column that holds a row's home domain; null when the resource is not scoped to a domain. */
  domainColumn(layout: TableLayout): "domain_pk" | null;
}

/** Builds the table layouts of all declarations, once at start. */
export function buildTables(catalogue: Catalogue): Tables {
  const layouts = catalogue.all.map((resource) => buildTableLayout(resource, catalogue));
  const byResource = new Map(layouts.map((layout) => [layout.resource.name, layout]));
  const domainColumn = (layout: TableLayout): "domain_pk" | null =>
    layout.resource.scope === "domain" && catalogue.has("domains") ? "domain_pk" : null;
  return {
    catalogue,
    layouts,
    domainColumn,
    layout(resource) {
      const layout = byResource.get(resource.name);
      if (!layout) throw new BugError(`resource ${resource.name} is not part of this store`);
      return layout;
    },
  };
}
