import { Link } from "@tanstack/react-router";
import type { CloudLink } from "../../api/link-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { SentenceText } from "../../ui/sentence-text.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import { InitialSyncSection } from "./initial-sync.tsx";

const TONES = { cloud: "good", lan: "warn", solo: "warn" } as const;
const STATE_TONES = { none: "", connected: "good", connecting: "", waiting: "warn", refused: "bad" } as const;

/** Summary and details of the link. */
export function LinkStatus({ link }: { link: CloudLink }) {
  const { t, name } = useTranslation();
  if (link.hub === null) {
    return (
      <>
        <div className="row" aria-live="polite">
          {link.mode === "lan" ? <Chip tone="">{name("link-mode", link.mode)}</Chip> : null}
        </div>
        <p>{t("cloud.none")}</p>
      </>
    );
  }
  const isCutOff = link.state !== "connected";
  return (
    <>
      <div className="row" aria-live="polite">
        <Chip tone={TONES[link.mode]}>{name("link-mode", link.mode)}</Chip>
        {isCutOff && <Chip tone={STATE_TONES[link.state]}>{name("link-state", link.state)}</Chip>}
        {link.resyncing && <span>{t("cloud.resyncing")}</span>}
      </div>
      {isCutOff && <p>{t("cloud.goes-on")}</p>}
      <dl className="facts">
        <dt>{t("cloud.at")}</dt>
        <dd>{link.hub}</dd>
        <dt>{t("cloud.since")}</dt>
        <dd>
          <Timestamp at={link.since} />
        </dd>
        {isCutOff && (
          <>
            <dt>{t("cloud.reason")}</dt>
            <dd>{link.reason === null ? "–" : <SentenceText text={link.reason} sentence={link.reasonSentence} />}</dd>
          </>
        )}
        <dt>{t("cloud.let-in")}</dt>
        <dd>
          <Timestamp at={link.connectedAt} />
        </dd>
        <Waiting link={link} />
        <dt>{t("cloud.certificate")}</dt>
        <dd>
          <Timestamp at={link.certificateUntil} />
        </dd>
      </dl>
      {link.initialSync && <InitialSyncSection report={link.initialSync} />}
      <SecretTasks link={link} />
      <Refused link={link} />
    </>
  );
}

function Waiting({ link }: { link: CloudLink }) {
  const { t } = useTranslation();
  const { unsentRows, unsentSince, stagedRows, position } = link;
  return (
    <>
      <dt>{t("cloud.unsent")}</dt>
      <dd>
        {unsentRows === 0 ? (
          t("cloud.nothing")
        ) : (
          <>
            {t("cloud.unsent-rows", { count: unsentRows })}, {t("cloud.unsent-since")} <Timestamp at={unsentSince} />
          </>
        )}
      </dd>
      <dt>{t("cloud.coming")}</dt>
      <dd>{stagedRows === 0 ? t("cloud.nothing") : t("appliances.behind-rows", { count: stagedRows })}</dd>
      {position && (
        <>
          <dt>{t("cloud.position")}</dt>
          <dd>{t("cloud.position-text", position)}</dd>
        </>
      )}
    </>
  );
}

function SecretTasks({ link: { secretTasks } }: { link: CloudLink }) {
  const { t } = useTranslation();
  if (secretTasks.length === 0) return null;
  const isUrgent = secretTasks.some(({ isNeeded }) => isNeeded);
  return (
    <section className="stack">
      <Chip tone={isUrgent ? "warn" : ""}>{t("cloud.secrets", { count: secretTasks.length })}</Chip>
      <p>{t("cloud.secrets-text")}</p>
      <ul className="plain lined">
        {secretTasks.map(({ resource, rowId, name, field, reason, isNeeded }) => (
          <li key={`${rowId} ${field}`}>
            <Link to={resource === "extensions" ? "/system" : "/clusters"}>{name ?? resource}</Link>:{" "}
            <code>{field.replace(/^config\./, "")}</code> {t(`cloud.secret-${reason}`)}
            {isNeeded ? null : <small> {t("cloud.secret-later")}</small>}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Refused({ link }: { link: CloudLink }) {
  const { t } = useTranslation();
  if (link.refusedRows === 0) return null;
  return (
    <section className="stack">
      <Chip tone="warn">{t("cloud.refused", { count: link.refusedRows })}</Chip>
      <ul className="plain lined">
        {link.refused.map(({ resource, rowId, reason, reasonSentence }) => (
          <li key={`${resource} ${rowId}`}>
            <strong>{resource}</strong> <small>{rowId}</small>: <SentenceText text={reason} sentence={reasonSentence} />
          </li>
        ))}
      </ul>
    </section>
  );
}
