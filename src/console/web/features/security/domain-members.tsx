import { Button, Select } from "@mantine/core";
import { useState } from "react";
import type { ApiClient } from "../../api/client.ts";
import type { RouteFor } from "../../api/routes.ts";
import type { Named, Row } from "../../api/rows.ts";
import { useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { RowSelect } from "../../ui/form/row-select.tsx";
import { ListTable } from "../../ui/list/list-table.tsx";
import { type DomainNode, flattenDomainTree } from "./domain-tree.ts";
import { resourceLabel } from "./permission-text.ts";
import "../../ui/input-styles.ts";

/** The families whose rows lie in domains and which the console can show. */
const FAMILIES = [
  "users",
  "distribution-lists",
  "device-groups",
  "message-templates",
  "security-groups",
  "confirmation-requests",
] as const;
type Family = (typeof FAMILIES)[number];

type Member = Row & Named;

const membersOf = (family: Family) => `domains/{domainId}/${family}` as const;

/** Where a row is taken out of a domain, with its id filled in. */
const PLACES = {
  users: ["domains/{domainId}/users/{userId}", "userId"],
  "distribution-lists": ["domains/{domainId}/distribution-lists/{distributionListId}", "distributionListId"],
  "device-groups": ["domains/{domainId}/device-groups/{deviceGroupId}", "deviceGroupId"],
  "message-templates": ["domains/{domainId}/message-templates/{messageTemplateId}", "messageTemplateId"],
  "security-groups": ["domains/{domainId}/security-groups/{securityGroupId}", "securityGroupId"],
  "confirmation-requests": [
    "domains/{domainId}/confirmation-requests/{confirmationRequestId}",
    "confirmationRequestId",
  ],
} as const satisfies Record<Family, readonly [RouteFor<"delete">, string]>;

function takeOut(client: ApiClient, family: Family, domainId: string, id: string): Promise<void> {
  const [route, param] = PLACES[family];
  return client.remove(route, { domainId, [param]: id });
}

/** Contents of a domain by resource: add, remove, or move to another domain. */
export function DomainMembers({ domainId, tree }: { domainId: string; tree: readonly DomainNode[] }) {
  const { t, name } = useTranslation();
  const [family, setFamily] = useState<Family>("users");
  return (
    <section className="stack">
      <Select
        label={t("domain.kind")}
        allowDeselect={false}
        data={FAMILIES.map((value) => ({ value, label: resourceLabel(value, name) }))}
        value={family}
        onChange={(value) => setFamily((value ?? "users") as Family)}
      />
      <AddToDomain key={`in ${family}`} domainId={domainId} family={family} />
      <div className="members-table">
        <ListTable<Member>
          key={family}
          label={t("domain.members")}
          route={membersOf(family)}
          params={{ domainId }}
          sort="name"
          columns={[
            { id: "name", head: t("field.name"), width: "1fr", cell: (row) => <strong>{row.name}</strong> },
            {
              id: "move",
              head: t("domain.move"),
              width: "11rem",
              cell: (row) => <MoveChoice {...{ domainId, family, tree, row }} />,
            },
            {
              id: "out",
              head: t("remove"),
              width: "9rem",
              side: true,
              cell: (row) => <OutButton {...{ domainId, family, row }} />,
            },
          ]}
          empty={<p>{t("domain.empty")}</p>}
        />
      </div>
    </section>
  );
}

interface PlaceProps {
  domainId: string;
  family: Family;
}

/** Puts a row into this domain, beside where it is; what it would have to replace is asked for. */
function AddToDomain({ domainId, family }: PlaceProps) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const [chosen, setChosen] = useState<string | null>(null);
  const put = useRowMutation(family, async (replace: boolean) => {
    const body = { id: chosen ?? "", ...(replace ? { promote: true, demote: true } : {}) };
    const row = await client.post<Member>(membersOf(family), { domainId }, body);
    setChosen(null);
    notify(t("domain.moved", { name: row.name }));
  });
  return (
    <>
      <div className="row end">
        <div className="grow">
          <RowSelect
            label={t("domain.put-in")}
            placeholder={t("domain.choose")}
            route={family}
            query={{ sort: "name" }}
            value={chosen}
            onChange={setChosen}
          />
        </div>
        <Button disabled={!chosen} loading={put.isPending} onClick={() => put.mutate(false)}>
          {t("add")}
        </Button>
      </div>
      <ErrorLine error={put.error} />
      {put.error && chosen && (
        <div className="row">
          <span className="soft grow">{t("domain.replace")}</span>
          <Button variant="default" size="compact-md" onClick={() => put.mutate(true)}>
            {t("domain.replace-go")}
          </Button>
        </div>
      )}
    </>
  );
}

/** Moves a row: into the other domain first, then out of this one, so that it is never nowhere. */
function MoveChoice({ domainId, family, tree, row }: PlaceProps & { tree: readonly DomainNode[]; row: Member }) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const move = useRowMutation(family, async (to: string) => {
    await client.post(membersOf(family), { domainId: to }, { id: row.id, promote: true, demote: true });
    const isThere = await client
      .get<{ total: number }>(membersOf(family), { domainId }, { ids: [row.id], limit: 1 })
      .then(({ total }) => total > 0);
    if (isThere) await takeOut(client, family, domainId, row.id);
    notify(t("domain.moved", { name: row.name }));
  });
  const others = flattenDomainTree(tree).filter((each) => each.row.id !== domainId);
  return (
    <>
      <Select
        size="xs"
        aria-label={t("domain.move-named", { name: row.name })}
        placeholder={t("domain.move-to")}
        data={others.map((each) => ({ value: each.row.id, label: each.row.name }))}
        value={null}
        disabled={move.isPending}
        onChange={(to) => to && move.mutate(to)}
        comboboxProps={{ withinPortal: true }}
      />
      <ErrorLine error={move.error} />
    </>
  );
}

function OutButton({ domainId, family, row }: PlaceProps & { row: Member }) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const back = useRowMutation<void, unknown>("domains", () =>
    client.post(membersOf(family), { domainId }, { id: row.id }),
  );
  const out = useRowMutation<void, void>("domains", async () => {
    await takeOut(client, family, domainId, row.id);
    notify(t("domain.taken-out", { name: row.name }), () => back.mutate());
  });
  return (
    <>
      <Button
        variant="default"
        size="compact-sm"
        loading={out.isPending}
        aria-label={t("domain.take-out-named", { name: row.name })}
        onClick={() => out.mutate()}
      >
        {t("domain.take-out")}
      </Button>
      <ErrorLine error={out.error ?? back.error} />
    </>
  );
}
