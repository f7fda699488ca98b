import { Button } from "@mantine/core";
import { useState } from "react";
import type { SiteRecipientRow } from "../../api/place-rows.ts";
import { useRowMutation, useRows, useSchemas } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { Form } from "../../ui/form/form.tsx";
import { type FieldOverrides, type FormValues, formFields } from "../../ui/form/form-fields.ts";
import { NEW } from "../../ui/row-sheet.tsx";
import { usePendingRemovalIds, useRemoval } from "../../ui/use-removal.ts";
import "../../ui/lines.css";

const FIELDS: readonly FieldOverrides[] = [
  { name: "distributionListIds", kind: "rows", from: "distribution-lists" },
  { name: "userIds", kind: "rows", from: "users" },
  { name: "deviceGroupIds", kind: "rows", from: "device-groups" },
  { name: "areaOfInterestIds", kind: "rows", from: "areas-of-interest" },
  { name: "collaborationGroupIds", kind: "rows", from: "collaboration-groups" },
];
const NO_VALUES: FormValues = {};

/** Role assignments of a site. */
export function SiteRoleHolders({ siteId }: { siteId: string }) {
  const { t } = useTranslation();
  const [open, setOpen] = useState<string | null>(null);
  const players = useRows<SiteRecipientRow>("sites/{siteId}/recipients", { siteId }, { limit: 1_000 });
  const gone = usePendingRemovalIds();
  const rows = (players.data?.data ?? []).toSorted((a, b) => roleOf(a).localeCompare(roleOf(b)));
  const close = () => setOpen(null);
  return (
    <section className="stack">
      <p className="soft">{t("places.roles-text")}</p>
      <ErrorLine error={players.error} />
      {players.data?.total === 0 && <p className="soft">{t("places.roles-none")}</p>}
      <ul className="plain lined">
        {rows.map((row) => (
          <li key={row.id} className={gone.has(row.id) ? "leaving stack" : "stack"}>
            <button
              type="button"
              className="tile"
              aria-expanded={open === row.id}
              onClick={() => setOpen(open === row.id ? null : row.id)}
            >
              {roleOf(row)}
              <small>{whoOf(row) || t("places.roles-unassigned")}</small>
            </button>
            {open === row.id && <Player key={row.id} {...{ siteId, row }} onDone={close} />}
          </li>
        ))}
      </ul>
      {open === NEW ? (
        <Player siteId={siteId} row={null} onDone={close} />
      ) : (
        <div>
          <Button variant="default" onClick={() => setOpen(NEW)}>
            {t("places.roles-add")}
          </Button>
        </div>
      )}
    </section>
  );
}

function roleOf({ siteRole }: SiteRecipientRow): string {
  return siteRole?.name ?? "–";
}

function whoOf(row: SiteRecipientRow): string {
  const all = [row.distributionLists, row.users, row.deviceGroups, row.areasOfInterest, row.collaborationGroups];
  return all
    .flat()
    .map(({ name }) => name)
    .join(", ");
}

function Player({ siteId, row, onDone }: { siteId: string; row: SiteRecipientRow | null; onDone: () => void }) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const schemas = useSchemas();
  const removeSoon = useRemoval("sites/{siteId}/recipients/{recipientId}");
  const params = { siteId, recipientId: row?.id ?? "" };
  const save = useRowMutation("site-recipients", async (changed: Record<string, unknown>) => {
    if (row) await client.put("sites/{siteId}/recipients/{recipientId}", params, changed);
    else await client.post("sites/{siteId}/recipients", { siteId }, changed);
    notify(t("saved"));
    onDone();
  });
  const role: FieldOverrides[] = row ? [] : [{ name: "siteRoleId", kind: "row", from: "site-roles" }];
  const remove = () => {
    if (row) void removeSoon({ id: row.id, name: roleOf(row), params });
    onDone();
  };
  return (
    <>
      <ErrorLine error={schemas.error} />
      {schemas.data && (
        <Form
          fields={formFields(schemas.data.resources["site-recipients"]?.schema, [...role, ...FIELDS])}
          before={row ? { ...row } : NO_VALUES}
          pending={save.isPending}
          error={save.error}
          onSave={(changed) => save.mutate(changed)}
          onRemove={row ? remove : undefined}
        />
      )}
    </>
  );
}
