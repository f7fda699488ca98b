import { Link } from "@tanstack/react-router";
import { CallerError } from "../../../../lib/errors.ts";
import type { ScimStatus, ScimTokenRow } from "../../api/identity-rows.ts";
import { useRow } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { CopyField } from "../../ui/copy-field.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { ListPage } from "../../ui/list/list-page.tsx";
import { NewSecretRow } from "../../ui/new-secret.tsx";
import { OneTimeSecret } from "../../ui/one-time-secret.tsx";
import { RemoveButton } from "../../ui/remove-button.tsx";
import { NEW } from "../../ui/row-sheet.tsx";
import { SideSheet } from "../../ui/side-sheet.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import "../../ui/lines.css";

/** How often what directories asked is read again; it is no row, so nothing tells of it. */
const REFRESH_INTERVAL_MS = 10_000;

/** Directories that provision users and groups over SCIM. */
export default function ProvisioningPage() {
  const { t } = useTranslation();
  return (
    <ListPage<ScimTokenRow>
      tabs="people"
      title={t("provisioning.title")}
      add={t("provisioning.add")}
      none={t("provisioning.none")}
      route="scim-tokens"
      columns={[
        {
          id: "used",
          head: t("provisioning.used"),
          width: "1fr",
          side: true,
          cell: (row) => <Timestamp at={row.lastUsedAt} />,
        },
        {
          id: "ends",
          head: t("provisioning.ends"),
          width: "1fr",
          side: true,
          cell: (row) => <Timestamp at={row.expires} />,
        },
      ]}
      sheet={(id, onClose) =>
        id === NEW ? <NewToken onClose={onClose} /> : <TokenSheet key={id} scimTokenId={id} onClose={onClose} />
      }
    >
      <Service />
    </ListPage>
  );
}

function Service() {
  const { t } = useTranslation();
  const { data, error } = useRow<ScimStatus>("scim-status", {}, {}, { refetchInterval: REFRESH_INTERVAL_MS });
  // That one may not see it, the list says.
  if (!data) return error instanceof CallerError && error.type === "forbidden" ? null : <ErrorLine error={error} />;
  const { url, users, groups, lastRequests } = data;
  return (
    <section className="card">
      <p>{t("provisioning.intro")}</p>
      <CopyField label={t("provisioning.address")} value={url} />
      <p>
        {t("provisioning.people", { count: users })} · {t("provisioning.groups", { count: groups })} ·{" "}
        <Link to="/directory-groups">{t("directory.title")}</Link> ·{" "}
        <Link to="/security-groups">{t("provisioning.tie")}</Link>
      </p>
      <details>
        <summary>{t("provisioning.last")}</summary>
        {lastRequests.length === 0 && <p className="soft">{t("provisioning.no-requests")}</p>}
        <ul className="plain lined">
          {lastRequests.map((request) => (
            <RequestLine key={`${request.at} ${request.method} ${request.path} ${request.status}`} request={request} />
          ))}
        </ul>
      </details>
    </section>
  );
}

function RequestLine({ request }: { request: ScimStatus["lastRequests"][number] }) {
  const { t } = useTranslation();
  const { at, directory, method, path, status, detail } = request;
  return (
    <li className="row">
      <span className="grow">
        <code>
          {method} {path}
        </code>
        <small className="soft block">
          <Timestamp at={at} /> · {directory ?? t("provisioning.unknown")}
          {detail && ` · ${detail}`}
        </small>
      </span>
      <Chip tone={status < 400 ? "" : "warn"}>{String(status)}</Chip>
    </li>
  );
}

function NewToken({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <NewSecretRow<ScimTokenRow>
      route="scim-tokens"
      title={t("provisioning.add")}
      fields={[
        { name: "name", hint: t("provisioning.name-hint") },
        { name: "expires", label: t("provisioning.ends"), hint: t("provisioning.expires-hint") },
        {
          name: "homeDomainId",
          kind: "row",
          from: "domains",
          label: t("provisioning.domain"),
          hint: t("provisioning.domain-hint"),
        },
      ]}
      onClose={onClose}
      made={({ token }) => <OneTimeSecret label={t("provisioning.value")} value={token ?? ""} onKept={onClose} />}
    />
  );
}

function TokenSheet({ scimTokenId, onClose }: { scimTokenId: string; onClose: () => void }) {
  const { t } = useTranslation();
  const { data, error } = useRow<ScimTokenRow>("scim-tokens/{scimTokenId}", { scimTokenId });
  return (
    <SideSheet title={data?.name ?? ""} onClose={onClose}>
      <ErrorLine error={error} />
      {data && (
        <div className="stack">
          <p>
            {t("provisioning.used")} <Timestamp at={data.lastUsedAt} /> · {t("provisioning.ends")}{" "}
            <Timestamp at={data.expires} />
          </p>
          {data.permissions.includes("delete") && (
            <RemoveButton
              route="scim-tokens/{scimTokenId}"
              params={{ scimTokenId }}
              id={scimTokenId}
              name={data.name}
              label={t("token.revoke")}
            />
          )}
        </div>
      )}
    </SideSheet>
  );
}
