import type siteRoles from "../resources/places/site-roles.ts";
import sites from "../resources/places/sites.ts";
import type { PresentContext, ResourceHooks } from "../store/store.ts";
import { buildVisibilitySql } from "../store/visibility-sql.ts";

/** Serializes the sites where a role is assigned, if requested; one query per page. */
export const siteRoleHooks: ResourceHooks<typeof siteRoles> = {
  present(rows, context) {
    if (context.query.includeAssociatedSites !== true) return rows.map(() => ({}));
    const found = sitesByRole(
      rows.map(({ pk }) => pk),
      context,
    );
    return rows.map(({ pk }) => ({ associatedSites: found.get(pk) ?? [] }));
  },
};

function sitesByRole(pks: readonly number[], { reader, scope }: PresentContext) {
  const found = new Map<number, { id: string; name: string }[]>();
  const { sql, params } = buildVisibilitySql(scope.visible(sites));
  const lines = reader.all<{ role: number; id: string; name: string }>(
    `SELECT DISTINCT p.site_role_pk AS role, t.id, t.name FROM site_recipients p JOIN sites t ON t.pk = p.site_pk
     WHERE p.site_role_pk IN (SELECT value FROM json_each(?)) AND ${sql} ORDER BY t.name, t.id`,
    JSON.stringify(pks),
    ...params,
  );
  for (const { role, id, name } of lines) found.set(role, [...(found.get(role) ?? []), { id, name }]);
  return found;
}
