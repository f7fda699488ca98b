import { Link } from "@tanstack/react-router";
import type { DirectoryLinkRow } from "../../api/identity-rows.ts";
import type { RouteParams } from "../../api/routes.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { LinkedRows } from "../../ui/linked-rows.tsx";

/** Where ties stand: at a security group, or at a list. */
type LinksRoute =
  | "security-groups/{securityGroupId}/scim-groups"
  | "distribution-lists/{distributionListId}/scim-groups";

/** The groups of a directory that a list or a security group is tied to. */
export function DirectoryGroupLinks({ route, params }: { route: LinksRoute; params: RouteParams }) {
  const { t } = useTranslation();
  const { client } = useConsole();
  return (
    <LinkedRows<DirectoryLinkRow>
      route={route}
      params={params}
      query={{ includeMemberCounts: true }}
      from="scim-groups"
      idOf={({ scimGroupId }) => scimGroupId}
      nameOf={({ name }) => name ?? "–"}
      line={(row) => (
        <>
          <Link to="/directory-groups" search={{ open: row.scimGroupId }}>
            {row.name ?? "–"}
          </Link>
          <small className="soft block">{t("directory.count", { count: row.memberCount ?? 0 })}</small>
        </>
      )}
      tie={(scimGroupId) => client.post(route, params, { scimGroupId })}
      untie={(scimGroupId) => client.remove(`${route}/{scimGroupId}`, { ...params, scimGroupId })}
      words={{
        none: t("directory.no-ties"),
        some: t("directory.ties-text"),
        add: t("directory.tie"),
        choose: t("security.choose"),
        untied: (name) => t("directory.untied", { name }),
        untie: (name) => t("directory.untie-named", { name }),
      }}
    />
  );
}
