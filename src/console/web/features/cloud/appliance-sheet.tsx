import type { ApplianceRow } from "../../api/link-rows.ts";
import { useAppliance, useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ConfirmButton } from "../../ui/confirm-button.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { RowSelect } from "../../ui/form/row-select.tsx";
import { SentenceText } from "../../ui/sentence-text.tsx";
import { SheetTabs } from "../../ui/sheet-tabs.tsx";
import { SideSheet } from "../../ui/side-sheet.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import { HealthChip, LinkChip } from "./appliance-state.tsx";
import { ApplianceCommands } from "./commands.tsx";

/** One appliance: state and commands. */
export function ApplianceSheet({ row, onClose }: { row: ApplianceRow; onClose: () => void }) {
  const { t } = useTranslation();
  const title = row.name ?? row.endpointId;
  return (
    <SideSheet title={title} onClose={onClose}>
      <SheetTabs
        label={title}
        tabs={[
          { id: "link", label: t("appliances.details"), content: <Details row={row} /> },
          { id: "orders", label: t("appliances.orders"), content: <ApplianceCommands row={row} /> },
        ]}
      />
    </SideSheet>
  );
}

function Details({ row }: { row: ApplianceRow }) {
  return (
    <div className="stack">
      <div className="row" aria-live="polite">
        <LinkChip link={row.link} />
        <HealthChip health={row.health} />
        {row.since && <Timestamp at={row.since} />}
      </div>
      {row.health && row.health.reasonSentences.length > 0 && (
        <ul className="plain">
          {row.health.reasonSentences.map((each) => (
            <li key={each.text}>
              <SentenceText text={each.text} sentence={each} />
            </li>
          ))}
        </ul>
      )}
      <SiteField row={row} />
      <Facts row={row} />
      <Alarms row={row} />
      {(row.link === "linked" || row.link === "away") && <RevokeButton row={row} />}
    </div>
  );
}

/** Where it stands. */
function SiteField({ row: { endpointId, site } }: { row: ApplianceRow }) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const extensionId = useAppliance()?.extensionId ?? "";
  const saving = useRowMutation<string | null, void>("endpoints", async (siteId) => {
    await client.put("extensions/{extensionId}/endpoints/{endpointId}", { extensionId, endpointId }, { siteId });
    notify(t("appliances.site-saved"));
  });
  return (
    <>
      <RowSelect
        label={t("appliances.site")}
        placeholder={t("form.choose")}
        route="sites"
        disabled={extensionId === "" || saving.isPending}
        value={site?.siteId ?? null}
        onChange={(siteId) => saving.mutate(siteId)}
      />
      <ErrorLine error={saving.error} />
    </>
  );
}

function Facts({ row }: { row: ApplianceRow }) {
  const { t } = useTranslation();
  return (
    <dl className="facts">
      <dt>{t("appliances.heard")}</dt>
      <dd>
        <Timestamp at={row.heardAt} />
      </dd>
      <dt>{t("appliances.version")}</dt>
      <dd>{row.version ?? "–"}</dd>
      <dt>{t("appliances.behind")}</dt>
      <dd>
        {row.rowsBehind === null || row.rowsBehind === 0 ? (
          row.rowsBehind === null ? (
            "–"
          ) : (
            t("appliances.level")
          )
        ) : (
          <>
            {t("appliances.behind-rows", { count: row.rowsBehind })}, {t("appliances.behind-since")}{" "}
            <Timestamp at={row.behindSince} />
          </>
        )}
      </dd>
      <dt>{t("cloud.position")}</dt>
      <dd>{row.position === null ? "–" : `${row.position} / ${row.head}`}</dd>
      <dt>{t("cloud.unsent")}</dt>
      <dd>
        {row.unsentRows === null || row.unsentRows === 0 ? (
          t("cloud.nothing")
        ) : (
          <>
            {t("cloud.unsent-rows", { count: row.unsentRows })}, {t("cloud.unsent-since")}{" "}
            <Timestamp at={row.unsentSince} />
          </>
        )}
      </dd>
      <dt>{t("appliances.queue")}</dt>
      <dd>{t("appliances.queue-text", { count: row.openCommands })}</dd>
      <dt>{t("appliances.waiting")}</dt>
      <dd>
        {t("appliances.behind-rows", { count: row.waitingRows })}
        {row.waits.length > 0 && (
          <ul className="plain lined">
            {row.waits.map(({ resource, rowId, reason, reasonSentence }) => (
              <li key={`${resource} ${rowId}`}>
                <strong>{resource}</strong> <small>{rowId}</small>:{" "}
                <SentenceText text={reason} sentence={reasonSentence} />
              </li>
            ))}
          </ul>
        )}
      </dd>
      <dt>{t("cloud.certificate")}</dt>
      <dd>
        <Timestamp at={row.certificateUntil} />
      </dd>
    </dl>
  );
}

function Alarms({ row: { alarms } }: { row: ApplianceRow }) {
  const { t, name, say } = useTranslation();
  return (
    <>
      <h3>{t("appliances.alarms")}</h3>
      {alarms.length === 0 && <p className="soft">{t("appliances.no-alarms")}</p>}
      <ul className="plain lined">
        {alarms.map(({ alarmId, type, since, reasonSentences }) => (
          <li key={alarmId}>
            <strong>{name("alarm-type", type)}</strong> <Timestamp at={since} />
            <span className="block soft">{reasonSentences.map((each) => say(each.text, each)).join(" ")}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

function RevokeButton({ row: { endpointId, name } }: { row: ApplianceRow }) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const revoking = useRowMutation<void, void>("endpoints", async () => {
    await client.remove("link/appliances/{endpointId}", { endpointId });
    notify(t("appliances.revoked", { name: name ?? endpointId }));
  });
  return (
    <ConfirmButton
      word={t("appliances.revoke")}
      words={t("appliances.revoke-text")}
      pending={revoking.isPending}
      error={revoking.error}
      onSure={() => revoking.mutate()}
    />
  );
}
