import { Button } from "@mantine/core";
import type { LoadRunFile, LoadRunMessage, LoadRunRow } from "../../api/upload-rows.ts";
import { useRowMutation, useRows } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import type { MessageKey } from "../../i18n/message-keys.ts";
import type { SentenceOfApi } from "../../i18n/translator.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { SentenceText } from "../../ui/sentence-text.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import { isRunActive, progressText, runCounts, runTone } from "./load-run-text.ts";

const MAX_RUNS = 20;
const MAX_LINES_UNFOLDED = 5;

interface RunsProps {
  loadDefinitionId: string;
  most?: number;
}

/** Loads from a source, newest first, and the ways to begin one: to try it, or in earnest. */
export function LoadRuns({ loadDefinitionId, most = MAX_RUNS }: RunsProps) {
  const { t } = useTranslation();
  const { client } = useConsole();
  const params = { loadDefinitionId };
  const runs = useRows<LoadRunRow>("load-definitions/{loadDefinitionId}/runs", params, {
    limit: most,
    sort: "-createdAt",
  });
  const begin = useRowMutation<object, void>("load-runs", async (body) => {
    await client.post("load-definitions/{loadDefinitionId}/runs", params, body);
  });
  const rows = runs.data?.data ?? [];
  const isBusy = begin.isPending || (rows[0] !== undefined && isRunActive(rows[0]));
  return (
    <section className="stack" aria-label={t("load.runs")} aria-live="polite">
      <div className="row">
        <Button loading={isBusy} onClick={() => begin.mutate({ dryRun: true })}>
          {t("load.try")}
        </Button>
        <Button variant="default" disabled={isBusy} onClick={() => begin.mutate({})}>
          {t("load.now")}
        </Button>
      </div>
      <ErrorLine error={runs.error ?? begin.error} />
      {runs.data && rows.length === 0 && <p className="soft">{t("load.no-runs")}</p>}
      <ul className="plain lined">
        {rows.map((run, at) => (
          <li key={run.id} className="stack">
            <Run run={run} />
            {at === 0 && run.state === "stopped" && (
              <ConfirmRemovals
                run={run}
                busy={isBusy}
                onConfirm={() => begin.mutate({ confirmed: true, dryRun: run.dryRun })}
              />
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Run({ run }: { run: LoadRunRow }) {
  const translator = useTranslation();
  const { t, name } = translator;
  return (
    <>
      <div className="row">
        <Chip tone={runTone(run)}>{name("run-state", run.state)}</Chip>
        {run.dryRun && <span>{t("load.was-try")}</span>}
        <span className="soft">
          <Timestamp at={run.createdAt} />
        </span>
      </div>
      {run.reason && run.state !== "stopped" && (
        <p>
          <SentenceText text={run.reason} sentence={run.reasonSentence} />
        </p>
      )}
      {isRunActive(run) && run.phase && <p>{progressText(run, translator)}</p>}
      {!isRunActive(run) && (
        <dl className="facts">
          {runCounts(run).map(({ key, n }) => (
            <div key={key} className="fact">
              <dt>{t(key)}</dt>
              <dd>{n}</dd>
            </div>
          ))}
        </dl>
      )}
      <RunFiles files={run.files} />
      <RunLines lines={run.errors} sentences={run.errorSentences} word="load.errors" />
      <RunLines lines={run.warnings} sentences={run.warningSentences} word="load.warnings" />
    </>
  );
}

/** How the files were read, so that a wrong separator or encoding is seen. */
function RunFiles({ files }: { files: readonly LoadRunFile[] | null }) {
  const { t, name } = useTranslation();
  if (!files?.length) return null;
  return (
    <details>
      <summary>{t("load.files", { count: files.length })}</summary>
      <ul className="plain">
        {files.map(({ file, mode, lines, delimiter, encoding, quote }) => (
          <li key={file}>
            {`${file}: ${t("load.file-lines", { count: lines })}, `}
            {mode === "delta" && `${t("load.delta")}, `}
            {[name("load-encoding", encoding), name("load-delimiter", delimiter), name("load-quote", quote)].join(", ")}
          </li>
        ))}
      </ul>
      <p className="soft">{t("load.files-hint")}</p>
    </details>
  );
}

interface RunLinesProps {
  lines: readonly LoadRunMessage[] | null;
  sentences: readonly SentenceOfApi[] | null | undefined;
  word: MessageKey;
}

/** What is wrong with lines of the source; many are folded up. */
function RunLines({ lines, sentences, word }: RunLinesProps) {
  const { t, say } = useTranslation();
  if (!lines?.length) return null;
  const messageText = (file: string | null, line: number, column: string | null, message: string): string => {
    const text = column === null || message.includes(column) ? message : `${column}: ${message}`;
    if (line === 0) return file === null ? text : `${file}: ${text}`;
    return file === null
      ? t("load.error-line", { line, message: text })
      : t("load.file-line", { file, line, message: text });
  };
  return (
    <details open={lines.length <= MAX_LINES_UNFOLDED}>
      <summary>{t(word, { count: lines.length })}</summary>
      <ul className="plain">
        {lines.map(({ file, line, column, message }, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a line may have several faults
          <li key={at}>{messageText(file ?? null, line ?? 0, column ?? null, say(message, sentences?.[at]))}</li>
        ))}
      </ul>
    </details>
  );
}

interface ConfirmRemovalsProps {
  run: LoadRunRow;
  busy: boolean;
  onConfirm(): void;
}

/** A load that would remove too many: nothing was changed; is the file whole? */
function ConfirmRemovals({ run, busy, onConfirm }: ConfirmRemovalsProps) {
  const { t } = useTranslation();
  const count = run.usersRemoved;
  const importText = count > 0 ? t("load.remove-anyway", { count }) : t("load.confirm-anyway");
  const confirmText = run.dryRun ? t("load.try-anyway") : importText;
  return (
    <div className="card stop-question" role="alert">
      <h3>{run.usersRemoved > 0 ? t("load.stopped-title", { count: run.usersRemoved }) : t("load.stopped-other")}</h3>
      {run.reason && (
        <p>
          <SentenceText text={run.reason} sentence={run.reasonSentence} />
        </p>
      )}
      <p>{t("load.stopped-text")}</p>
      <div className="row">
        <Button variant="default" c="var(--bad)" disabled={busy} onClick={onConfirm}>
          {confirmText}
        </Button>
      </div>
    </div>
  );
}
