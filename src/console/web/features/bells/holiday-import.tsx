import { Button } from "@mantine/core";
import { useId, useState } from "react";
import type { BellScheduleRow, DryRunResult, RejectedEvent } from "../../api/bell-rows.ts";
import type { RouteQuery } from "../../api/routes.ts";
import { useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { FileField } from "../../ui/file-field.tsx";
import { RowSelect } from "../../ui/form/row-select.tsx";
import { SentenceText } from "../../ui/sentence-text.tsx";
import { RingDiff } from "./ring-diff.tsx";
import { DRY_RUN, useDryRunDiff } from "./use-ring-diff.ts";

const CALENDAR = "text/calendar";

type Imported = BellScheduleRow &
  DryRunResult & {
    imported: number;
    unknownZones: string[];
    rejected: RejectedEvent[];
  };

/** Imports holidays from a calendar file as exceptions, with a preview. */
export function HolidayImport({ bellScheduleId }: { bellScheduleId: string }) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const id = useId();
  const [file, setFile] = useState<{ name: string; text: string } | null>(null);
  const [ringListId, setRingListId] = useState<string | null>(null);
  const route = "bell-schedules/{bellScheduleId}/holidays";
  const send = (text: string, query: RouteQuery = {}) =>
    client.post<Imported>(
      route,
      { bellScheduleId },
      new Blob([text]),
      { "Content-Type": CALENDAR },
      {
        ...query,
        ...(ringListId === null ? {} : { ringListId }),
      },
    );
  const body = file && { ...file, ringListId };
  const difference = useDryRunDiff(body, ({ text }: { text: string }) => send(text, DRY_RUN));
  const take = useRowMutation<string, void>("bell-schedules", async (text) => {
    const { imported } = await send(text);
    notify(t("holidays.taken", { count: imported }));
    setFile(null);
  });
  return (
    <section className="stack" aria-label={t("holidays.title")}>
      <h3>{t("holidays.title")}</h3>
      <p className="soft">{t("holidays.intro")}</p>
      <FileField
        id={id}
        label={t("holidays.file")}
        required={false}
        error={null}
        accept={[CALENDAR, ".ics"]}
        value={file}
        onChange={(chosen) => {
          take.reset();
          if (!chosen) return setFile(null);
          void chosen.text().then((text) => setFile({ name: chosen.name, text }));
        }}
      />
      <RowSelect
        label={t("holidays.ring-list")}
        placeholder={t("day-change.no-bells")}
        route="ring-lists"
        value={ringListId}
        onChange={setRingListId}
      />
      {file && (
        <>
          <RingDiff
            difference={difference.answer?.ringDiff}
            error={difference.error}
            isPending={difference.isPending}
            before={t("ring-diff.counting")}
            ofMany={false}
          />
          <RejectedEvents rejected={difference.answer?.rejected ?? []} />
          {(difference.answer?.unknownZones ?? []).length > 0 && (
            <p role="status">
              {t("holidays.unknown-zones", { zones: difference.answer?.unknownZones.join(", ") ?? "" })}
            </p>
          )}
          <div>
            <Button
              loading={take.isPending}
              disabled={!difference.answer || difference.isPending}
              onClick={() => take.mutate(file.text)}
            >
              {t("holidays.take", { count: difference.answer?.imported ?? 0 })}
            </Button>
          </div>
        </>
      )}
      <ErrorLine error={take.error} />
    </section>
  );
}

/** Events that are not imported, each with its reason. */
function RejectedEvents({ rejected }: Pick<Imported, "rejected">) {
  const { t } = useTranslation();
  if (rejected.length === 0) return null;
  return (
    <div role="status">
      <p>{t("holidays.rejected", { count: rejected.length })}</p>
      <ul>
        {rejected.map(({ number, summary, message, messageSentence }) => (
          <li key={number}>
            {summary ?? number}: <SentenceText text={message} sentence={messageSentence} />
          </li>
        ))}
      </ul>
    </div>
  );
}
