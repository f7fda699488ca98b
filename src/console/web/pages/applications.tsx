import { Button } from "@mantine/core";
import { useState } from "react";
import type { UserRow } from "../api/rows.ts";
import type { ApplicationRow } from "../api/security-rows.ts";
import { useChange, useRow, useRows, useSchemas } from "../api/use-rows.ts";
import { useConsole } from "../console-context.tsx";
import { ListPage, OpenButton } from "../list/list-page.tsx";
import { CopyField } from "../parts/copy-field.tsx";
import { FaultLine } from "../parts/fault-line.tsx";
import { Form } from "../parts/form.tsx";
import { type Drawn, drawnFields } from "../parts/form-fields.ts";
import { Chip } from "../parts/level-chip.tsx";
import { Moment } from "../parts/moment.tsx";
import { OnceShown } from "../parts/once-shown.tsx";
import { NEW, RowSheet } from "../parts/row-sheet.tsx";
import { SideSheet } from "../parts/side-sheet.tsx";
import { useWords } from "../words/use-words.tsx";
import "../parts/lines.css";

/** Programs that users let act for them. */
export default function ApplicationsPage() {
  const { t, name } = useWords();
  return (
    <ListPage<ApplicationRow>
      tabs="system"
      title={t("application.title")}
      add={t("application.add")}
      none={t("application.none")}
      route="applications"
      columns={(open) => [
        {
          id: "name",
          head: t("field.name"),
          width: "2fr",
          sort: "name",
          cell: (row) => <OpenButton name={row.name} onOpen={() => open(row.id)} />,
        },
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

function useFields(): Drawn[] {
  const { t, name } = useWords();
  const users = useRows<UserRow>("users", {}, { limit: 1_000, sort: "name", type: "application" });
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
      kind: "choice",
      hint: t("application.user-hint"),
      choices: (users.data?.data ?? []).map((user) => ({ value: user.id, label: user.name })),
    },
  ];
}

/** A new program; its secret stands in the answer alone, so the sheet stays until it is kept. */
function NewApplication({ onClose }: { onClose: () => void }) {
  const { t } = useWords();
  const { client } = useConsole();
  const schemas = useSchemas();
  const fields = useFields();
  const make = useChange("applications", (body: Record<string, unknown>) =>
    client.post<ApplicationRow>("applications", {}, body),
  );
  return (
    <SideSheet title={make.data?.name ?? t("application.add")} onClose={onClose}>
      {make.data ? (
        <div className="stack">
          <CopyField label={t("application.client-id")} value={make.data.clientId} />
          {make.data.clientSecret ? (
            <OnceShown label={t("application.secret")} value={make.data.clientSecret} onKept={onClose} />
          ) : (
            <div>
              <Button onClick={onClose}>{t("close")}</Button>
            </div>
          )}
        </div>
      ) : (
        <>
          <FaultLine error={schemas.error} />
          {schemas.data && (
            <Form
              fields={drawnFields(schemas.data.resources.applications?.schema, fields)}
              before={{}}
              pending={make.isPending}
              error={make.error}
              onSave={(body) => make.mutate(body)}
            />
          )}
        </>
      )}
    </SideSheet>
  );
}

function ApplicationSheet({ applicationId, onClose }: { applicationId: string; onClose: () => void }) {
  const { t } = useWords();
  const fields = useFields().filter(({ name }) => name !== "type");
  return (
    <RowSheet
      id={applicationId}
      collection="applications"
      item="applications/{applicationId}"
      newTitle={t("application.add")}
      onClose={onClose}
      fields={fields}
      tabs={[{ id: "keys", label: t("application.keys"), content: <Keys applicationId={applicationId} /> }]}
    />
  );
}

function Keys({ applicationId }: { applicationId: string }) {
  const { t } = useWords();
  const { client } = useConsole();
  const [armed, setArmed] = useState(false);
  const row = useRow<ApplicationRow>("applications/{applicationId}", { applicationId });
  const rotate = useChange<void, ApplicationRow>("applications", async () => {
    setArmed(false);
    return client.post<ApplicationRow>("applications/{applicationId}/rotate-secret", { applicationId }, {});
  });
  if (row.data?.id !== applicationId) return <FaultLine error={row.error} />;
  const { clientId, type, secretCreatedAt } = row.data;
  return (
    <div className="stack">
      <CopyField label={t("application.client-id")} value={clientId} />
      {type === "public" && <p className="soft">{t("application.public-words")}</p>}
      {type === "confidential" && (
        <>
          <p>
            {t("application.secret-made")} <Moment at={secretCreatedAt} />
          </p>
          {rotate.data?.clientSecret ? (
            <OnceShown label={t("application.secret")} value={rotate.data.clientSecret} onKept={() => rotate.reset()} />
          ) : (
            <div>
              <Button
                variant={armed ? "filled" : "default"}
                {...(armed ? { color: "red" } : {})}
                loading={rotate.isPending}
                onBlur={() => setArmed(false)}
                onClick={() => (armed ? rotate.mutate() : setArmed(true))}
              >
                {armed ? t("application.rotate-really") : t("application.rotate")}
              </Button>
            </div>
          )}
          <p className="soft">{t("application.rotate-hint")}</p>
        </>
      )}
      <FaultLine error={rotate.error} />
    </div>
  );
}
