import { Button } from "@mantine/core";
import type { ApplicationRow } from "../../api/security-rows.ts";
import { useRow } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { CopyField } from "../../ui/copy-field.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import type { FieldOverrides } from "../../ui/form/form-fields.ts";
import { ListPage } from "../../ui/list/list-page.tsx";
import { NewSecretRow, SecretRotation } from "../../ui/new-secret.tsx";
import { OneTimeSecret } from "../../ui/one-time-secret.tsx";
import { NEW, RowSheet } from "../../ui/row-sheet.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import "../../ui/lines.css";

/** Programs that users let act for them. */
export default function ApplicationsPage() {
  const { t, name } = useTranslation();
  return (
    <ListPage<ApplicationRow>
      tabs="system"
      title={t("application.title")}
      add={t("application.add")}
      none={t("application.none")}
      route="applications"
      columns={[
        {
          id: "type",
          head: t("field.type"),
          width: "10rem",
          side: true,
          cell: (row) => <Chip tone="">{name("application-type", row.type)}</Chip>,
        },
        { id: "user", head: t("application.acts-as"), width: "1fr", cell: (row) => row.user?.name ?? "–" },
        {
          id: "scopes",
          head: t("application.scopes"),
          width: "1fr",
          cell: (row) => (row.scopes.length > 0 ? row.scopes.join(" ") : t("application.no-scopes")),
        },
      ]}
      sheet={(id, onClose) =>
        id === NEW ? (
          <NewApplication onClose={onClose} />
        ) : (
          <ApplicationSheet key={id} applicationId={id} onClose={onClose} />
        )
      }
    />
  );
}

function useFields(): FieldOverrides[] {
  const { t, name } = useTranslation();
  return [
    { name: "name", hint: t("application.name-hint") },
    {
      name: "type",
      hint: t("application.type-hint"),
      choices: ["confidential", "public"].map((value) => ({ value, label: name("application-type", value) })),
    },
    { name: "redirectUris", hint: t("application.uris-hint") },
    { name: "scopes", hint: t("application.scopes-hint") },
    {
      name: "userId",
      kind: "row",
      from: "users",
      query: { sort: "name", type: "application" },
      hint: t("application.user-hint"),
    },
  ];
}

function NewApplication({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <NewSecretRow<ApplicationRow>
      route="applications"
      title={t("application.add")}
      fields={useFields()}
      onClose={onClose}
      made={({ clientId, clientSecret }) => (
        <div className="stack">
          <CopyField label={t("application.client-id")} value={clientId} />
          {clientSecret ? (
            <OneTimeSecret label={t("application.secret")} value={clientSecret} onKept={onClose} />
          ) : (
            <div>
              <Button onClick={onClose}>{t("close")}</Button>
            </div>
          )}
        </div>
      )}
    />
  );
}

function ApplicationSheet({ applicationId, onClose }: { applicationId: string; onClose: () => void }) {
  const { t } = useTranslation();
  const fields = useFields().filter(({ name }) => name !== "type");
  return (
    <RowSheet
      id={applicationId}
      item="applications/{applicationId}"
      newTitle={t("application.add")}
      onClose={onClose}
      fields={fields}
      tabs={[{ id: "keys", label: t("application.keys"), content: <Keys applicationId={applicationId} /> }]}
    />
  );
}

function Keys({ applicationId }: { applicationId: string }) {
  const { t } = useTranslation();
  const { client } = useConsole();
  const row = useRow<ApplicationRow>("applications/{applicationId}", { applicationId });
  if (row.data?.id !== applicationId) return <ErrorLine error={row.error} />;
  const { clientId, type, secretCreatedAt } = row.data;
  return (
    <div className="stack">
      <CopyField label={t("application.client-id")} value={clientId} />
      {type === "public" && <p className="soft">{t("application.public-text")}</p>}
      {type === "confidential" && (
        <>
          <p>
            {t("application.secret-made")} <Timestamp at={secretCreatedAt} />
          </p>
          <SecretRotation
            resource="applications"
            label={t("application.secret")}
            words={{ ask: t("application.rotate"), really: t("application.rotate-really") }}
            isSharp
            rotate={async () => {
              const route = "applications/{applicationId}/rotate-secret";
              return (await client.post<ApplicationRow>(route, { applicationId }, {})).clientSecret ?? "";
            }}
          />
          <p className="soft">{t("application.rotate-hint")}</p>
        </>
      )}
    </div>
  );
}
