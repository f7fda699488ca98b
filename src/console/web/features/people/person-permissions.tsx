import { Button, Select } from "@mantine/core";
import { useState } from "react";
import type { MemberRow, PermissionRow, SecurityGroupRow } from "../../api/identity-rows.ts";
import { useRowMutation, useRows } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { Permissions } from "../security/permissions.tsx";
import "../../ui/input-styles.ts";

const ALL = { limit: 1_000 };

/** Permissions of a person, from groups and personal ones. */
export function PersonPermissions({ userId }: { userId: string }) {
  const { t } = useTranslation();
  const { client } = useConsole();
  const grants = useRows<PermissionRow>("users/{userId}/user-permissions", { userId }, ALL);
  return (
    <div className="stack">
      <Memberships userId={userId} />
      <h3>{t("person.own-grants")}</h3>
      <ErrorLine error={grants.error} />
      {grants.data?.total === 0 && <p className="soft">{t("person.no-own-grants")}</p>}
      <Permissions
        resource="user-permissions"
        rows={grants.data?.data ?? []}
        onAdd={(grant) => client.post("users/{userId}/user-permissions", { userId }, grant)}
        onRemove={(id) =>
          client.remove("users/{userId}/user-permissions/{userPermissionId}", { userId, userPermissionId: id })
        }
      />
    </div>
  );
}

function Memberships({ userId }: { userId: string }) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const [chosen, setChosen] = useState<string | null>(null);
  const memberships = useRows<MemberRow>("users/{userId}/security-groups", { userId }, ALL);
  const groups = useRows<SecurityGroupRow>("security-groups", {}, { ...ALL, sort: "name" });
  const join = useRowMutation("security-group-members", async (securityGroupId: string) => {
    await client.post("users/{userId}/security-groups", { userId }, { securityGroupId });
    setChosen(null);
    notify(t("saved"));
  });
  const leave = useRowMutation("security-group-members", async (securityGroupId: string) => {
    await client.remove("users/{userId}/security-groups/{securityGroupId}", { userId, securityGroupId });
    notify(t("removed"), () => join.mutate(securityGroupId));
  });
  const rows = memberships.data?.data ?? [];
  const inside = new Set(rows.map(({ securityGroupId }) => securityGroupId));
  return (
    <section className="stack">
      <h3>{t("security.title")}</h3>
      <ErrorLine error={memberships.error ?? groups.error ?? leave.error} />
      {memberships.data?.total === 0 && <p className="soft">{t("person.no-groups")}</p>}
      <ul className="plain lined">
        {rows.map((row) => (
          <li key={row.id} className="row">
            <strong className="grow">{row.securityGroup?.name ?? "–"}</strong>
            {row.securityGroup?.superGroup && <Chip tone="warn">{t("security.super")}</Chip>}
            <Button
              variant="default"
              size="compact-sm"
              loading={leave.isPending && leave.variables === row.securityGroupId}
              aria-label={t("security.leave-named", { name: row.securityGroup?.name ?? "" })}
              onClick={() => leave.mutate(row.securityGroupId)}
            >
              {t("remove")}
            </Button>
          </li>
        ))}
      </ul>
      <div className="row end">
        <Select
          label={t("security.join")}
          placeholder={t("security.choose")}
          searchable
          data={(groups.data?.data ?? [])
            .filter(({ id }) => !inside.has(id))
            .map(({ id, name }) => ({ value: id, label: name }))}
          value={chosen}
          onChange={setChosen}
          flex="1 1 14rem"
        />
        <Button disabled={!chosen} loading={join.isPending} onClick={() => chosen && join.mutate(chosen)}>
          {t("add")}
        </Button>
      </div>
      <ErrorLine error={join.error} />
    </section>
  );
}
