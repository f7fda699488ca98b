import { Button } from "@mantine/core";
import type { IdentityProviderRow, IdentityProviderTest } from "../../api/rows.ts";
import { useRow, useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import type { MessageKey } from "../../i18n/message-keys.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { CopyField } from "../../ui/copy-field.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import type { FieldType } from "../../ui/form/form-fields.ts";
import { ListPage } from "../../ui/list/list-page.tsx";
import { NEW, RowSheet } from "../../ui/row-sheet.tsx";
import { SentenceText } from "../../ui/sentence-text.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";

const TYPES = ["oidc", "ldap", "saml"] as const;
type Values = Readonly<Record<string, unknown>>;

const isOne =
  (...types: string[]) =>
  ({ type }: Values): boolean =>
    types.includes(String(type));

/**
 * Which kinds have which fields, in the order of the form. Addresses and names may be long and are one line all the same; keys
 * are of several lines, secret or not.
 */
const FIELDS: readonly (readonly [name: string, types: readonly string[], kind?: FieldType])[] = [
  ["issuer", ["oidc"], "text"],
  ["clientId", ["oidc"]],
  ["clientSecret", ["oidc"]],
  ["scope", ["oidc"], "text"],
  ["url", ["ldap"], "text"],
  ["startTls", ["ldap"]],
  ["bindDn", ["ldap"], "text"],
  ["bindPassword", ["ldap"]],
  ["userBase", ["ldap"], "text"],
  ["userFilter", ["ldap"], "text"],
  ["groupBase", ["ldap"], "text"],
  ["groupFilter", ["ldap"], "text"],
  ["syncSchedule", ["ldap"]],
  ["entryPoint", ["saml"], "text"],
  ["logoutUrl", ["saml"], "text"],
  ["idpIssuer", ["saml"], "text"],
  ["idpCertificates", ["saml"]],
  ["spIssuer", ["saml"], "text"],
  ["spPrivateKey", ["saml"], "long"],
  ["spCertificate", ["saml"]],
  ["caCertificates", ["oidc", "ldap"]],
  ["subjectAttribute", TYPES],
  ["emailAttribute", TYPES],
  ["nameAttribute", TYPES],
  ["groupsAttribute", ["oidc", "saml"]],
  ["selfRegistrationEnabled", TYPES],
  ["createsGroups", TYPES],
  ["clockToleranceInSecs", ["oidc", "saml"]],
  ["requiredAcr", ["oidc", "saml"], "text"],
  ["requiredAmr", ["oidc"], "text"],
  ["maxLoginAgeInSecs", ["oidc", "saml"]],
  ["logOut", ["oidc"]],
  ["nameIdFormat", ["saml"]],
  ["acceptSignedResponse", ["saml"]],
  ["allowSha1", ["saml"]],
];

/** What a label is too short for. */
const HINTS: Readonly<Record<string, MessageKey>> = {
  issuer: "provider.issuer-hint",
  userFilter: "provider.user-filter-hint",
  groupFilter: "provider.group-filter-hint",
  syncSchedule: "provider.sync-hint",
  emailAttribute: "provider.email-hint",
  groupsAttribute: "provider.groups-hint",
  selfRegistrationEnabled: "provider.register-hint",
};

/** Identity providers for log-in. */
export default function IdentityProvidersPage() {
  const { t, name } = useTranslation();
  return (
    <ListPage<IdentityProviderRow>
      tabs="people"
      title={t("provider.title")}
      add={t("provider.add")}
      none={t("provider.none")}
      route="identity-providers"
      columns={[
        { id: "type", head: t("field.type"), width: "1fr", cell: (row) => name("provider-type", row.type) },
        {
          id: "address",
          head: t("provider.address"),
          width: "2fr",
          cell: (row) => row.issuer ?? row.url ?? row.entryPoint ?? "–",
        },
        {
          id: "state",
          head: t("field.status"),
          width: "8rem",
          side: true,
          cell: (row) => (row.enabled ? "" : <Chip tone="warn">{t("provider.off")}</Chip>),
        },
      ]}
      sheet={(id, onClose) => <ProviderSheet key={id} id={id} onClose={onClose} />}
    />
  );
}

function ProviderSheet({ id, onClose }: { id: string; onClose: () => void }) {
  const { t, name } = useTranslation();
  return (
    <RowSheet
      id={id}
      item="identity-providers/{identityProviderId}"
      newTitle={t("provider.add")}
      onClose={onClose}
      initial={{
        type: "oidc",
        enabled: true,
        createsGroups: true,
        syncSchedule: "15 3 * * *",
        clockToleranceInSecs: 60,
      }}
      fields={[
        { name: "name" },
        ...(id === NEW
          ? [
              {
                name: "type",
                hint: t("provider.half-hint"),
                choices: TYPES.map((value) => ({ value, label: name("provider-type", value) })),
              },
            ]
          : []),
        { name: "enabled" },
        ...FIELDS.map(([field, types, kind]) => ({
          name: field,
          ...(kind && { kind }),
          shown: isOne(...types),
          ...(HINTS[field] && { hint: t(HINTS[field]) }),
        })),
      ]}
      tabs={[{ id: "connection", label: t("provider.connection"), content: <Connection identityProviderId={id} /> }]}
    />
  );
}

/** What the provider must know, and whether a log-in by it would work. */
function Connection({ identityProviderId }: { identityProviderId: string }) {
  const { t, name } = useTranslation();
  const { client } = useConsole();
  const row = useRow<IdentityProviderRow>("identity-providers/{identityProviderId}", { identityProviderId });
  const test = useRowMutation<void, IdentityProviderTest>("identity-providers", () =>
    client.post<IdentityProviderTest>(
      "identity-providers/{identityProviderId}/connection-test",
      { identityProviderId },
      {},
    ),
  );
  const sync = useRowMutation<boolean, unknown>("identity-providers", (anyway) =>
    client.post("identity-providers/{identityProviderId}/sync", { identityProviderId }, { anyway }),
  );
  const { type, redirectUri, backChannelLogoutUrl, metadataUrl, permissions } = row.data ?? {};
  if (type === "built-in") return <p className="soft">{t("provider.built-in-text")}</p>;
  return (
    <section className="stack" aria-live="polite">
      <ErrorLine error={row.error ?? test.error ?? sync.error} />
      {redirectUri && <CopyField label={t("provider.back")} value={redirectUri} />}
      {backChannelLogoutUrl && <CopyField label={t("provider.back-channel")} value={backChannelLogoutUrl} />}
      {metadataUrl && <CopyField label={t("provider.metadata")} value={metadataUrl} />}
      {permissions?.includes("put") && (
        <>
          <p className="soft">{t("provider.test-text")}</p>
          <div className="row">
            <Button loading={test.isPending} onClick={() => test.mutate()}>
              {t("provider.test")}
            </Button>
            {type === "ldap" && (
              <Button variant="default" loading={sync.isPending} onClick={() => sync.mutate(false)}>
                {t("provider.sync")}
              </Button>
            )}
          </div>
        </>
      )}
      {test.data?.ok && <p>{t("provider.well")}</p>}
      <ul className="plain lined">
        {test.data?.checks.map(({ what, ok, code, value, words, wordsSentence }) => (
          <li key={`${what} ${words}`} className="stack tight">
            <span className="row">
              <Chip tone={ok ? "good" : "bad"}>{t(ok ? "provider.works" : "provider.fails")}</Chip>
              {name("provider-check", what)}
            </span>
            <span>{ok ? name("provider-found", code, { value: value ?? "" }) : name("provider-fault", what)}</span>
            {!ok && (
              <span className="soft">
                <SentenceText text={words} sentence={wordsSentence} />
              </span>
            )}
          </li>
        ))}
      </ul>
      {row.data?.lastSyncOutcome && (
        <LastSync row={row.data} pending={sync.isPending} onAnyway={() => sync.mutate(true)} />
      )}
      <p className="soft">{t("provider.intro")}</p>
    </section>
  );
}

/** What came of bringing people in line; where many would have to go, it is done when somebody says so. */
function LastSync({ row, pending, onAnyway }: { row: IdentityProviderRow; pending: boolean; onAnyway: () => void }) {
  const { t, name } = useTranslation();
  const {
    lastSyncAt,
    lastSyncOutcome,
    lastSyncInLine,
    lastSyncGone,
    lastSyncResult,
    lastSyncResultSentence,
    permissions,
  } = row;
  const counts = { inLine: lastSyncInLine ?? 0, gone: lastSyncGone ?? 0 };
  const isHeld = lastSyncOutcome === "held-back" || lastSyncOutcome === "none-found";
  return (
    <div className="stack tight">
      <p>
        {t("provider.synced")} <Timestamp at={lastSyncAt ?? null} />{" "}
        {name("sync-outcome", lastSyncOutcome ?? "", counts)}
      </p>
      {lastSyncOutcome === "failed" && lastSyncResult && (
        <p className="soft">
          <SentenceText text={lastSyncResult} sentence={lastSyncResultSentence} />
        </p>
      )}
      {isHeld && permissions?.includes("put") && (
        <div className="row">
          <Button color="red" variant="outline" loading={pending} onClick={onAnyway}>
            {t("provider.anyway", { count: counts.gone })}
          </Button>
        </div>
      )}
    </div>
  );
}
