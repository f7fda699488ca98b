import { Button } from "@mantine/core";
import type { EndpointActivityRow } from "../../api/identity-rows.ts";
import type { BackupsAnswer } from "../../api/rows.ts";
import { useAppliance, useRow, useRowMutation, useRows } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { SectionTabs } from "../../ui/section-tabs.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import { commandResultText, sizeInMib } from "../cloud/command-text.ts";
import "../../ui/lines.css";
import { PageTitle } from "../../ui/page-title.tsx";

const ROUTE = "extensions/{extensionId}/endpoints/{endpointId}/activities";
const MAX_SHOWN = 50;

/** What became of the backups that were ordered here. */
export default function BackupsPage() {
  const translator = useTranslation();
  const { t, name } = translator;
  const { client, notify } = useConsole();
  const appliance = useAppliance();
  const params = { extensionId: appliance?.extensionId ?? "", endpointId: appliance?.id ?? "" };
  const query = { type: "backup", sort: "-createdAt", limit: MAX_SHOWN };
  const found = useRows<EndpointActivityRow>(ROUTE, params, query, { enabled: appliance !== undefined });
  const order = useRowMutation<void, void>("endpoint-activities", async () => {
    await client.post(ROUTE, params, { type: "backup" });
    notify(t("backup.ordered"));
  });
  const rows = found.data?.data ?? [];
  return (
    <div className="page">
      <SectionTabs of="system" />
      <div className="head">
        <PageTitle>{t("backup.title")}</PageTitle>
        <span className="space" />
        <Button loading={order.isPending} disabled={!appliance} onClick={() => order.mutate()}>
          {t("backup.now")}
        </Button>
      </div>
      <p className="soft">{t("backup.intro")}</p>
      <Kept />
      <h2>{t("backup.orders")}</h2>
      <ErrorLine error={found.error ?? order.error} />
      {found.data && rows.length === 0 && <p>{t("backup.none")}</p>}
      <ul className="plain lined" aria-live="polite">
        {rows.map((row) => (
          <li key={row.id} className="row">
            <Chip tone={row.state === "success" ? "good" : row.state === "fail" ? "bad" : "warn"}>
              {name("backup-state", row.state ?? "pending")}
            </Chip>
            <Timestamp at={row.createdAt} />
            <span className="grow soft">{commandResultText(row, translator)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The last one that counts, and what lies in the folder. */
function Kept() {
  const { t } = useTranslation();
  const found = useRow<BackupsAnswer>("backups");
  if (!found.data) return <ErrorLine error={found.error} />;
  const { folder, schedule, encrypted, provenAt, failure, backups } = found.data;
  return (
    <section className="card">
      <p>
        {provenAt === null ? (
          t("backup.never")
        ) : (
          <>
            {t("backup.proven")} <Timestamp at={provenAt} />
          </>
        )}
      </p>
      {failure !== null && <p role="alert">{t("backup.failed", { failure })}</p>}
      <p className="soft">
        {schedule === null ? t("backup.when-ordered", { folder }) : t("backup.when", { schedule, folder })}
      </p>
      <p className="soft">{encrypted ? t("backup.encrypted") : t("backup.not-encrypted")}</p>
      {backups.length > 0 && <h2>{t("backup.files")}</h2>}
      <ul className="plain lined">
        {backups.map(({ name, takenAt, bytes, encrypted: isEncrypted }) => (
          <li key={name} className="row">
            <Timestamp at={takenAt} />
            <span className="grow soft">{`${name}, ${sizeInMib(bytes)}`}</span>
            <span className="soft">{isEncrypted ? t("backup.file-encrypted") : t("backup.file-plain")}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
