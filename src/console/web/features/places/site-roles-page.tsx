import { Link } from "@tanstack/react-router";
import type { SiteRoleRow } from "../../api/place-rows.ts";
import { useRow } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ListPage } from "../../ui/list/list-page.tsx";
import { RowSheet } from "../../ui/row-sheet.tsx";

const WITH_SITES = { includeAssociatedSites: true };

/** Roles at sites; people are assigned per site. */
export default function SiteRolesPage() {
  const { t } = useTranslation();
  return (
    <ListPage<SiteRoleRow>
      tabs="devices"
      title={t("site-roles.title")}
      add={t("site-roles.add")}
      none={t("site-roles.none")}
      route="site-roles"
      query={WITH_SITES}
      opener={{ width: "1fr" }}
      columns={[
        {
          id: "sites",
          head: t("site-roles.sites"),
          width: "2fr",
          named: true,
          cell: (row) => row.associatedSites?.map(({ name }) => name).join(", ") || "–",
        },
      ]}
      sheet={(id, onClose) => (
        <RowSheet
          key={id}
          id={id}
          item="site-roles/{siteRoleId}"
          newTitle={t("site-roles.add")}
          onClose={onClose}
          fields={[
            { name: "name", hint: t("site-roles.name-hint") },
            { name: "isShared", hint: t("lists.shared-hint") },
          ]}
        >
          <SitesOf siteRoleId={id} />
        </RowSheet>
      )}
    />
  );
}

function SitesOf({ siteRoleId }: { siteRoleId: string }) {
  const { t } = useTranslation();
  const row = useRow<SiteRoleRow>("site-roles/{siteRoleId}", { siteRoleId }, WITH_SITES);
  const sites = row.data?.associatedSites ?? [];
  if (!row.data) return null;
  return (
    <section className="stack">
      <h3>{t("site-roles.sites")}</h3>
      {sites.length === 0 && <p className="soft">{t("site-roles.nowhere")}</p>}
      <ul className="plain">
        {sites.map(({ id, name }) => (
          <li key={id}>
            <Link to="/places" search={{ open: id }}>
              {name}
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}
