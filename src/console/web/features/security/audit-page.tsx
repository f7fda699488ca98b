import { Select, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useTrackedQuery } from "../../api/page-queries.ts";
import type { AuditCheck, AuditRow } from "../../api/security-rows.ts";
import { useRow } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import type { MessageFamily } from "../../i18n/message-keys.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { RowSelect } from "../../ui/form/row-select.tsx";
import { ListPage } from "../../ui/list/list-page.tsx";
import type { ListFilter } from "../../ui/list/table-search.ts";
import { useTableSearch } from "../../ui/list/use-table-search.ts";
import { endOfDay, startOfDay } from "../../ui/local-time.ts";
import { SentenceText } from "../../ui/sentence-text.tsx";
import { SideSheet } from "../../ui/side-sheet.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import { auditDiff, valueText } from "./audit-diff.ts";
import { resourceLabel } from "./permission-text.ts";
import "../../ui/input-styles.ts";
import "../../ui/lines.css";
import "./audit.css";

const OPS = [
  ...[
    "create",
    "update",
    "delete",
    "log-in",
    "log-in-refused",
    "log-in-throttled",
    "credential-refused",
    "refused",
    "read",
  ],
  ...["password-reset-requested", "password-reset", "trust-change", "audit-sealed", "history-removed"],
];
const TONES: Readonly<Record<string, string>> = {
  "log-in-refused": "warn",
  "log-in-throttled": "warn",
  "credential-refused": "warn",
  refused: "warn",
  delete: "bad",
  "trust-change": "warn",
};
const RESOURCES = [
  ...["users", "security-groups", "security-group-members", "security-group-permissions", "user-permissions"],
  ...["user-tokens", "applications", "triggers", "domains", "distribution-lists", "subscriptions"],
  ...["notifications", "message-templates", "device-groups", "devices", "extensions"],
];

/** Audit log with filters in the address. */
export default function AuditPage() {
  const { t, name } = useTranslation();
  const [{ resource, since, until, user }] = useTableSearch();
  const filters: ListFilter[] = [
    { name: "op", label: t("audit.op"), choices: OPS.map((value) => ({ value, label: name("audit-op", value) })) },
  ];
  const query = {
    ...(resource ? { resource } : {}),
    ...(user ? { actorId: user } : {}),
    createdAt__gte: startOfDay(since ?? "") ?? undefined,
    createdAt__lt: endOfDay(until ?? "") ?? undefined,
  };
  return (
    <ListPage<AuditRow>
      tabs="history"
      title={t("audit.title")}
      none={t("audit.none")}
      route="audit"
      sort="-createdAt"
      filters={filters}
      query={query}
      opener={{ head: t("audit.what"), sort: null, text: (row) => whatOf(row, name) }}
      columns={[
        { id: "op", head: t("audit.op"), width: "9rem", side: true, cell: (row) => <OpChip row={row} /> },
        { id: "who", head: t("audit.who"), width: "1fr", cell: (row) => row.actorName ?? t("audit.unknown") },
        { id: "from", head: t("audit.address"), width: "10rem", cell: (row) => row.address ?? "–" },
        {
          id: "at",
          head: t("audit.when"),
          width: "11rem",
          sort: "createdAt",
          cell: (row) => <Timestamp at={row.createdAt} />,
        },
      ]}
      sheet={(id, onClose) => <EntrySheet key={id} auditEntryId={id} onClose={onClose} />}
    >
      <ChainState />
      <Narrowing />
    </ListPage>
  );
}

/** Thing, person and days that the list is narrowed to. */
function Narrowing() {
  const { t, name, language } = useTranslation();
  const [{ resource, since, until, user }, show] = useTableSearch();
  const things = RESOURCES.map((value) => ({ value, label: resourceLabel(value, name) }));
  return (
    <div className="row end">
      <Select
        label={t("audit.thing")}
        placeholder={t("audit.all-things")}
        clearable
        searchable
        data={things.sort((a, b) => a.label.localeCompare(b.label, language))}
        value={resource ?? null}
        onChange={(value) => show({ resource: value ?? undefined })}
      />
      <RowSelect
        label={t("audit.who")}
        placeholder={t("audit.everybody")}
        route="users"
        value={user ?? null}
        onChange={(id) => show({ user: id ?? undefined })}
      />
      <TextInput
        type="date"
        label={t("audit.since")}
        value={since ?? ""}
        onChange={(event) => show({ since: event.currentTarget.value || undefined })}
      />
      <TextInput
        type="date"
        label={t("audit.until")}
        value={until ?? ""}
        onChange={(event) => show({ until: event.currentTarget.value || undefined })}
      />
    </div>
  );
}

function whatOf(
  { resource, before, after, details }: AuditRow,
  name: (family: MessageFamily, value: string) => string,
): string {
  const row = (after ?? before ?? details ?? {}) as Record<string, unknown>;
  const called = row.name ?? row.subject ?? row.description ?? row.email ?? row.spec ?? row.path;
  const thing = resource ? resourceLabel(resource, name) : "";
  const text = [thing, typeof called === "string" ? called : ""].filter(Boolean).join(": ") || "–";
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function OpChip({ row }: { row: AuditRow }) {
  const { name } = useTranslation();
  return <Chip tone={TONES[row.op] ?? ""}>{name("audit-op", row.op)}</Chip>;
}

const FRESH_MS = 300_000;

/** Whether the record is still what was written; followed to its end, however long it is. */
function ChainState() {
  const { t, say } = useTranslation();
  const { client, clock } = useConsole();
  const chain = useTrackedQuery(
    useQuery({
      queryKey: ["audit-chain"],
      staleTime: FRESH_MS,
      queryFn: async () => {
        let after = "";
        for (;;) {
          const verdict = await client.get<AuditCheck>("audit/verification", {}, after ? { after } : {});
          if (verdict.finished || !verdict.intact)
            return { ...verdict, checkedAt: new Date(clock.now()).toISOString() };
          after = `${verdict.last.number}:${verdict.last.hash}`;
        }
      },
    }),
  );
  const verdict = chain.data;
  return (
    <section className="row" aria-live="polite" aria-label={t("audit.chain")}>
      <ErrorLine error={chain.error} />
      {chain.isFetching && !verdict && <span className="soft">{t("audit.checking")}</span>}
      {verdict?.intact && (
        <>
          <Chip tone="good">{t("audit.intact")}</Chip>
          <span className="soft">
            {t("audit.intact-text", { count: verdict.entries })} <Timestamp at={verdict.checkedAt} />
          </span>
        </>
      )}
      {verdict?.broken && (
        <>
          <Chip tone="bad">{t("audit.broken")}</Chip>
          <span>
            {t("audit.broken-text", {
              number: verdict.broken.number,
              reason: say(verdict.broken.reason, verdict.broken.reasonSentence),
            })}{" "}
            {verdict.broken.at && <Timestamp at={verdict.broken.at} />}
          </span>
        </>
      )}
    </section>
  );
}

function EntrySheet({ auditEntryId, onClose }: { auditEntryId: string; onClose: () => void }) {
  const { t, name } = useTranslation();
  const entry = useRow<AuditRow>("audit/{auditEntryId}", { auditEntryId });
  const row = entry.data?.id === auditEntryId ? entry.data : undefined;
  return (
    <SideSheet title={row ? whatOf(row, name) : ""} onClose={onClose}>
      <ErrorLine error={entry.error} />
      {row && (
        <div className="stack">
          <div className="row">
            <OpChip row={row} />
            <Timestamp at={row.createdAt} />
          </div>
          <dl className="facts">
            <dt>{t("audit.who")}</dt>
            <dd>{row.actorName ?? t("audit.unknown")}</dd>
            <dt>{t("audit.address")}</dt>
            <dd>{row.address ?? "–"}</dd>
          </dl>
          <Differences row={row} />
          {row.details !== null && <Details row={row} />}
          <p className="soft hash">
            {t("audit.hash")} <code>{row.hash}</code>
          </p>
        </div>
      )}
    </SideSheet>
  );
}

/** A value of a row as one reads it; "" for nothing. */
function useValueText(): (value: unknown) => string {
  const { dates } = useTranslation();
  return (value) => valueText(value, dates.full);
}

function Differences({ row }: { row: AuditRow }) {
  const { t, name } = useTranslation();
  const textOf = useValueText();
  const differences = auditDiff(row.before, row.after);
  if (differences.length === 0) return null;
  return (
    <table className="difference">
      <caption>{t("audit.difference")}</caption>
      <thead>
        <tr>
          <th scope="col">{t("audit.field")}</th>
          <th scope="col">{t("audit.before")}</th>
          <th scope="col">{t("audit.after")}</th>
        </tr>
      </thead>
      <tbody>
        {differences.map(({ field, before, after }) => (
          <tr key={field}>
            <th scope="row">{name("field", field)}</th>
            <td>{textOf(before) ? <del>{textOf(before)}</del> : "–"}</td>
            <td>{textOf(after) ? <ins>{textOf(after)}</ins> : "–"}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Details({ row: { details, changeSentence, reasonSentence } }: { row: AuditRow }) {
  const { t } = useTranslation();
  const textOf = useValueText();
  const members = typeof details === "object" && details !== null ? Object.entries(details) : [];
  const sentences: Record<string, AuditRow["changeSentence"]> = { change: changeSentence, reason: reasonSentence };
  return (
    <>
      <h3>{t("audit.details")}</h3>
      <dl className="facts">
        {members.map(([key, value]) => (
          <div key={key} className="fact">
            <dt>{key}</dt>
            <dd>
              <SentenceText text={textOf(value) || "–"} sentence={sentences[key]} />
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}
