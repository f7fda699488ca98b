import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { DirectoryTieRow } from "../api/identity-rows.ts";
import { ROUTES, type RouteParams } from "../api/routes.ts";
import { useChange, useRows } from "../api/use-rows.ts";
import { useConsole } from "../console-context.tsx";
import { FaultLine } from "../parts/fault-line.tsx";
import { RowChoice } from "../parts/row-choice.tsx";
import { useWords } from "../words/use-words.tsx";

/** Where ties stand: at a security group, or at a list. */
type TiesRoute =
  | "security-groups/{securityGroupId}/scim-groups"
  | "distribution-lists/{distributionListId}/scim-groups";

/** The groups of a directory that a list or a security group is tied to. */
export function DirectoryTies({ route, params }: { route: TiesRoute; params: RouteParams }) {
  const { t } = useWords();
  const { client, say } = useConsole();
  const { resource } = ROUTES[route];
  const [chosen, setChosen] = useState<string | null>(null);
  const ties = useRows<DirectoryTieRow>(route, params, { limit: 1_000, includeMemberCounts: true });
  const tie = useChange(resource, async (scimGroupId: string) => {
    await client.post(route, params, { scimGroupId });
    setChosen(null);
    say(t("saved"));
  });
  const untie = useChange(resource, async ({ scimGroupId, name }: DirectoryTieRow) => {
    await client.remove(`${route}/{scimGroupId}`, { ...params, scimGroupId });
    say(t("directory.untied", { name: name ?? "" }), () => tie.mutate(scimGroupId));
  });
  const rows = ties.data?.data ?? [];
  return (
    <section className="stack">
      <FaultLine error={ties.error ?? untie.error} />
      <p className="soft">{t(ties.data?.total === 0 ? "directory.no-ties" : "directory.ties-words")}</p>
      <ul className="plain lined">
        {rows.map((row) => (
          <li key={row.id} className="row">
            <span className="grow">
              <Link to="/directory-groups" search={{ open: row.scimGroupId }}>
                {row.name ?? "–"}
              </Link>
              <small className="soft block">{t("directory.count", { n: row.memberCount ?? 0 })}</small>
            </span>
            <Button
              variant="default"
              size="compact-sm"
              loading={untie.isPending && untie.variables.id === row.id}
              aria-label={t("directory.untie-named", { name: row.name ?? "" })}
              onClick={() => untie.mutate(row)}
            >
              {t("remove")}
            </Button>
          </li>
        ))}
      </ul>
      <div className="row end">
        <div className="grow">
          <RowChoice
            label={t("directory.tie")}
            placeholder={t("security.choose")}
            route="scim-groups"
            without={new Set(rows.map(({ scimGroupId }) => scimGroupId))}
            value={chosen}
            onChange={setChosen}
          />
        </div>
        <Button disabled={!chosen} loading={tie.isPending} onClick={() => chosen && tie.mutate(chosen)}>
          {t("add")}
        </Button>
      </div>
      <FaultLine error={tie.error} />
    </section>
  );
}
