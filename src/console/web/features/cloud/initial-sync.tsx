import type { InitialSync } from "../../api/link-rows.ts";
import { useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ConfirmButton } from "../../ui/confirm-button.tsx";
import { SentenceText } from "../../ui/sentence-text.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";

const TONES = { running: "", differs: "bad", complete: "good", accepted: "warn" } as const;

/** What the first sync brought: the rows of each type before and after, and those that differ. */
export function InitialSyncSection({ report }: { report: InitialSync }) {
  const { t, name, say } = useTranslation();
  const { state, waitsFor, waitsForSentence, checkedAt, types } = report;
  return (
    <section className="stack" aria-label={t("first-sync.title")}>
      <h3>{t("first-sync.title")}</h3>
      <div className="row">
        <Chip tone={TONES[state]}>{name("first-sync-state", state)}</Chip>
        {checkedAt !== null && (
          <span>
            {t("first-sync.compared")} <Timestamp at={checkedAt} />
          </span>
        )}
      </div>
      {state === "running" && waitsFor !== null && (
        <p>{t("first-sync.waits", { for: say(waitsFor, waitsForSentence) })}</p>
      )}
      {state === "differs" && <Differences report={report} />}
      <details>
        <summary>{t("first-sync.rows")}</summary>
        <table>
          <thead>
            <tr>
              <th>{t("first-sync.type")}</th>
              <th>{t("first-sync.before")}</th>
              <th>{t("first-sync.cloud-before")}</th>
              <th>{t("first-sync.here")}</th>
              <th>{t("first-sync.cloud")}</th>
            </tr>
          </thead>
          <tbody>
            {types.map(({ resource, before, cloudBefore, here, cloud, isEqual }) => (
              <tr key={resource}>
                <td>
                  {resource} {checkedAt !== null && !isEqual && <Chip tone="warn">{t("first-sync.unequal")}</Chip>}
                </td>
                <td>{before}</td>
                <td>{cloudBefore ?? "–"}</td>
                <td>{here ?? "–"}</td>
                <td>{cloud ?? "–"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </section>
  );
}

function Differences({ report: { differences, more } }: { report: InitialSync }) {
  const { t, name: label } = useTranslation();
  return (
    <>
      <p>{t("first-sync.differs-text")}</p>
      <ul className="plain lined">
        {differences.map(({ resource, rowId, name, kind, fields, reason, reasonSentence }) => (
          <li key={`${resource} ${rowId}`}>
            <strong>{name ?? resource}</strong> <small>{name === null ? rowId : resource}</small>:{" "}
            {label("first-sync-kind", kind)} {fields.join(", ")}{" "}
            {reason && <SentenceText text={reason} sentence={reasonSentence} />}
          </li>
        ))}
      </ul>
      {more > 0 && <p>{t("first-sync.more", { count: more })}</p>}
      <div className="row">
        <Decide action="retry" />
        <Decide action="accept" />
      </div>
    </>
  );
}

function Decide({ action }: { action: "retry" | "accept" }) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const deciding = useRowMutation<void, void>("link", async () => {
    await client.post("link/initial-sync", {}, { action });
    notify(t(`first-sync.${action}-done`));
  });
  return (
    <ConfirmButton
      word={t(`first-sync.${action}`)}
      words={t(`first-sync.${action}-text`)}
      pending={deciding.isPending}
      error={deciding.error}
      onSure={() => deciding.mutate()}
    />
  );
}
