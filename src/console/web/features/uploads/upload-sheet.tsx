import { Button } from "@mantine/core";
import { useState } from "react";
import type { UploadLogRow, UploadRow } from "../../api/upload-rows.ts";
import { useRow, useRowMutation } from "../../api/use-rows.ts";
import { useConsole, useNow } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { ListTable } from "../../ui/list/list-table.tsx";
import { ProgressBar } from "../../ui/progress-bar.tsx";
import { SegmentedChoice } from "../../ui/segmented-choice.tsx";
import { SideSheet } from "../../ui/side-sheet.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { isUploadActive, uploadPace, uploadTone } from "./upload-text.ts";
import "../../ui/lines.css";
import "./uploads.css";

/** Progress must be visible even after a missed change. */
const POLL_INTERVAL_MS = 5_000;

/** An upload: how far it is, what came of each line, and what can be done with it. */
export function UploadSheet({ bulkUploadId, onClose }: { bulkUploadId: string; onClose: () => void }) {
  const { t, name } = useTranslation();
  const { data: row, error } = useRow<UploadRow>(
    "bulk-uploads/{bulkUploadId}",
    { bulkUploadId },
    {},
    { refetchInterval: POLL_INTERVAL_MS },
  );
  return (
    <SideSheet title={row?.fileName ?? t("upload.title")} onClose={onClose} wide>
      <ErrorLine error={error} />
      {row && (
        <div className="stack">
          <div className="row">
            <Chip tone={uploadTone(row)}>{name("upload-status", row.status)}</Chip>
            <span>{name("upload-type", row.resourceType)}</span>
            {row.testMode && row.status !== "COMPLETE" && <span className="soft">{t("upload.is-test")}</span>}
          </div>
          <Progress row={row} />
          <UploadResult row={row} />
          <Actions row={row} onClose={onClose} />
          {row.fileId !== null && <Lines row={row} />}
        </div>
      )}
    </SideSheet>
  );
}

function Progress({ row }: { row: UploadRow }) {
  const { t } = useTranslation();
  const pace = uploadPace(row, useNow());
  if (!isUploadActive(row)) return null;
  return (
    <div className="stack" aria-live="polite">
      <ProgressBar label={t("upload.progress")} percent={row.percentage} />
      <p className="soft">
        {t("upload.percent", { percent: row.percentage, lines: row.lineCount })}
        {pace && ` · ${t("upload.pace", pace)}`}
      </p>
    </div>
  );
}

/** What came of it, in a sentence. */
function UploadResult({ row }: { row: UploadRow }) {
  const { t } = useTranslation();
  if (isUploadActive(row)) return null;
  const { status, lineCount, errorCount } = row;
  if (status === "ERROR") return <p className="fault">{t("upload.failed", { count: errorCount })}</p>;
  if (status === "success") return <p>{t("upload.passed", { count: lineCount })}</p>;
  if (status === "COMPLETE") return <p>{t("upload.complete", { count: lineCount })}</p>;
  return <p className="soft">{t("upload.waits")}</p>;
}

function Actions({ row, onClose }: { row: UploadRow; onClose: () => void }) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const params = { bulkUploadId: row.id };
  const commit = useRowMutation<void, void>("bulk-uploads", async () => {
    await client.post("bulk-uploads/{bulkUploadId}/commit", params, {});
  });
  const remove = useRowMutation<void, void>("bulk-uploads", async () => {
    await client.remove("bulk-uploads/{bulkUploadId}", params);
    notify(t(isUploadActive(row) ? "upload.cancelled" : "removed"));
    onClose();
  });
  return (
    <>
      <div className="row">
        {row.status === "success" && (
          <Button loading={commit.isPending} onClick={() => commit.mutate()}>
            {t("upload.commit", { count: row.lineCount })}
          </Button>
        )}
        <Button variant="default" c="var(--bad)" loading={remove.isPending} onClick={() => remove.mutate()}>
          {isUploadActive(row) ? t("upload.cancel") : t("upload.forget")}
        </Button>
      </div>
      <ErrorLine error={commit.error ?? remove.error} />
    </>
  );
}

const CHOICES = ["all", "faults", "good"] as const;
const ASKS = { all: {}, faults: { resourceCreated: false }, good: { resourceCreated: true } } as const;

function Lines({ row }: { row: UploadRow }) {
  const { t, name, say } = useTranslation();
  const [shown, setShown] = useState<(typeof CHOICES)[number] | null>(null);
  const [opened, setOpened] = useState<UploadLogRow | null>(null);
  const chosen = shown ?? (row.errorCount > 0 ? "faults" : "all");
  return (
    <>
      <SegmentedChoice<(typeof CHOICES)[number]>
        label={t("upload.shown")}
        value={chosen}
        choices={CHOICES.map((value) => ({ value, label: name("upload-lines", value) }))}
        onChange={setShown}
      />
      <div className="upload-lines">
        <ListTable<UploadLogRow>
          label={t("upload.lines")}
          route="bulk-uploads/{bulkUploadId}/logs"
          params={{ bulkUploadId: row.id }}
          query={ASKS[chosen]}
          sort="line"
          onOpen={setOpened}
          columns={[
            {
              id: "line",
              head: t("upload.line"),
              width: "6rem",
              cell: (log) => (
                <button type="button" className="open" onClick={() => setOpened(log)}>
                  {t("upload.line-n", { line: log.line ?? "–" })}
                </button>
              ),
            },
            {
              id: "state",
              head: t("field.status"),
              width: "7rem",
              side: true,
              cell: (log) => (
                <Chip tone={log.resourceCreated ? "good" : "bad"}>
                  {name("upload-line", log.resourceCreated ? "good" : "fault")}
                </Chip>
              ),
            },
            { id: "name", head: t("field.name"), width: "1fr", cell: (log) => log.resourceName ?? "–" },
            {
              id: "words",
              head: t("upload.said"),
              width: "2.5fr",
              cell: (log) => say(log.resourceResponse ?? "", log.resourceResponseSentence),
            },
          ]}
          empty={<p>{t("upload.no-lines")}</p>}
        />
      </div>
      {opened && <LineDialog log={opened} onClose={() => setOpened(null)} />}
    </>
  );
}

/** Everything that was said to a line, since the table has room for its beginning alone. */
function LineDialog({ log, onClose }: { log: UploadLogRow; onClose: () => void }) {
  const { t, say } = useTranslation();
  const errors = (log.errors ?? []) as readonly { field: string | null; message: string }[];
  return (
    <Dialog title={t("upload.line-n", { line: log.line ?? "–" })} onClose={onClose}>
      <div className="stack">
        {log.resourceName && <strong>{log.resourceName}</strong>}
        {errors.length === 0 && <p>{say(log.resourceResponse ?? "", log.resourceResponseSentence)}</p>}
        <ul className="plain lined">
          {errors.map(({ field, message }, at) => (
            <li key={`${field} ${message}`}>{say(message, log.errorSentences?.[at])}</li>
          ))}
        </ul>
      </div>
    </Dialog>
  );
}
