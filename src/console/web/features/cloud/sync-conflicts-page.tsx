import { Button } from "@mantine/core";
import type { ConflictField, ConflictRow } from "../../api/link-rows.ts";
import { useAppliances, useRow, useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { SectionTabs } from "../../ui/section-tabs.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import { valueText } from "../security/audit-diff.ts";
import { resourceLabel } from "../security/permission-text.ts";
import "../../ui/lines.css";
import "../security/audit.css";
import { PageTitle } from "../../ui/page-title.tsx";

/** The feed does not report new conflicts. */
const POLL_INTERVAL_MS = 5_000;
const USE_LABELS = { update: "conflict.use", delete: "conflict.use-delete", create: "conflict.use-create" } as const;

/** Changes of sites that were overridden by the cloud, with both values. */
export default function SyncConflictsPage() {
  const { t } = useTranslation();
  const found = useRow<{ conflicts: readonly ConflictRow[]; more: number }>(
    "link/conflicts",
    {},
    {},
    { refetchInterval: POLL_INTERVAL_MS },
  );
  const { conflicts = [], more = 0 } = found.data ?? {};
  return (
    <div className="page">
      <SectionTabs of="system" />
      <PageTitle>{t("conflict.title")}</PageTitle>
      <p className="soft">{t("conflict.intro")}</p>
      <ErrorLine error={found.error} />
      {found.data && conflicts.length === 0 && <p>{t("conflict.none")}</p>}
      {conflicts.map((conflict) => (
        <ConflictCard key={conflict.id} conflict={conflict} />
      ))}
      {more > 0 && <p className="soft">{t("conflict.more", { count: more })}</p>}
    </div>
  );
}

function ConflictCard({ conflict }: { conflict: ConflictRow }) {
  const { t, name } = useTranslation();
  const { op, kind, usable, fields } = conflict;
  const place = useAppliances().find(({ id }) => id === conflict.endpointId)?.name ?? "–";
  const title = `${resourceLabel(conflict.resource, name)}: ${conflict.rowName ?? conflict.rowId.slice(0, 8)}`;
  return (
    <section className="card" aria-label={title}>
      <h2>{title.charAt(0).toUpperCase() + title.slice(1)}</h2>
      <div className="row">
        <Chip tone="warn">{name("conflict-kind", kind)}</Chip>
        <span>{t("conflict.who", { name: conflict.actorName, place })}</span>
        <Timestamp at={conflict.at} />
      </div>
      {op === "delete" ? <p>{t("conflict.deleted")}</p> : <Values fields={fields} />}
      {!usable && <p className="soft">{t("conflict.unusable")}</p>}
      <Decision conflict={conflict} />
    </section>
  );
}

function Decision({ conflict: { id, op, usable } }: { conflict: ConflictRow }) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const deciding = useRowMutation<boolean, void>("endpoints", async (takesSites) => {
    const params = { conflictId: id };
    if (takesSites) await client.post("link/conflicts/{conflictId}/use-site-value", params, {});
    else await client.remove("link/conflicts/{conflictId}", params);
    notify(t(takesSites ? "conflict.used" : "conflict.kept"));
  });
  return (
    <>
      <ErrorLine error={deciding.error} />
      <div className="row">
        {usable && (
          <Button loading={deciding.isPending} onClick={() => deciding.mutate(true)}>
            {t(USE_LABELS[op])}
          </Button>
        )}
        <Button variant="default" disabled={deciding.isPending} onClick={() => deciding.mutate(false)}>
          {t("conflict.keep")}
        </Button>
      </div>
    </>
  );
}

function Values({ fields }: { fields: readonly ConflictField[] }) {
  const { t, name, dates } = useTranslation();
  const textOf = (value: unknown, called: string | null): string => called ?? (valueText(value, dates.full) || "–");
  return (
    <table className="difference">
      <thead>
        <tr>
          <th scope="col">{t("conflict.field")}</th>
          <th scope="col">{t("conflict.site")}</th>
          <th scope="col">{t("conflict.present")}</th>
        </tr>
      </thead>
      <tbody>
        {fields.map((field) => (
          <tr key={field.name}>
            <th scope="row">{name("field", field.name)}</th>
            <td>{textOf(field.site, field.siteName)}</td>
            <td>{textOf(field.present, field.presentName)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
