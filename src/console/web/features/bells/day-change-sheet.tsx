import { Button, NumberInput, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { DayChangeRow, DryRunResult } from "../../api/bell-rows.ts";
import type { RouteQuery } from "../../api/routes.ts";
import { useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { RowSelect } from "../../ui/form/row-select.tsx";
import { RowsSelect } from "../../ui/form/rows-select.tsx";
import { SegmentedChoice } from "../../ui/segmented-choice.tsx";
import { SideSheet } from "../../ui/side-sheet.tsx";
import { TimeField } from "../../ui/time-field.tsx";
import { useUnsavedChanges } from "../../ui/use-unsaved-changes.tsx";
import { DAY_CHANGE_TYPES, type DayChangeDraft, dayChangeRequest, newDayChangeDraft } from "./day-change-draft.ts";
import { RingDiff, RingDiffSummary } from "./ring-diff.tsx";
import { DRY_RUN, useDryRunDiff } from "./use-ring-diff.ts";

interface DayChangeSheetProps {
  day: string;
  /** Schedules that are chosen on the page; all when empty. */
  bellScheduleIds: readonly string[];
  onClose(): void;
}

/** Changes some days: what, when, for which schedules, with a preview of the rings. */
export function DayChangeSheet({ day, bellScheduleIds, onClose }: DayChangeSheetProps) {
  const { t, name } = useTranslation();
  const [start] = useState(() => newDayChangeDraft(day, bellScheduleIds));
  const [draft, setDraft] = useState(start);
  const change = (part: Partial<DayChangeDraft>) => setDraft((old) => ({ ...old, ...part }));
  const made = dayChangeRequest(draft);
  const { send, saving } = useSaving(onClose);
  const difference = useDryRunDiff(made, (asked: NonNullable<typeof made>) => send(asked, DRY_RUN));
  const unsaved = useUnsavedChanges(draft !== start && !saving.isPending && !saving.isSuccess);
  return (
    <SideSheet title={t("day-change.title")} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (made) saving.mutate(made);
        }}
      >
        <SegmentedChoice
          label={t("day-change.what")}
          value={draft.kind}
          choices={DAY_CHANGE_TYPES.map((value) => ({ value, label: name("day-change-type", value) }))}
          onChange={(kind) => change({ kind })}
        />
        <p className="soft">{name("day-change-hint", draft.kind)}</p>
        <KindFields draft={draft} change={change} />
        <DayFields draft={draft} change={change} />
        <WhichSchedules draft={draft} change={change} />
        <TextInput
          label={t("day-change.why")}
          maxLength={250}
          value={draft.description}
          onChange={(event) => change({ description: event.currentTarget.value })}
        />
        <RingDiff
          difference={made ? difference.answer?.ringDiff : null}
          error={difference.error}
          isPending={difference.isPending}
          before={t("day-change.incomplete")}
        />
        {unsaved}
        <ErrorLine error={saving.error} />
        <div className="savebar">
          <Button type="submit" loading={saving.isPending} disabled={!made || Boolean(difference.error)}>
            {t("day-change.save")}
          </Button>
          {made && difference.answer?.ringDiff && <RingDiffSummary difference={difference.answer.ringDiff} />}
        </div>
      </form>
    </SideSheet>
  );
}

type Sent = NonNullable<ReturnType<typeof dayChangeRequest>>;

function useSaving(onClose: () => void) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const queries = useQueryClient();
  const send = ({ isLasting, body }: Sent, query: RouteQuery = {}) => {
    const route = isLasting ? "bell-schedules-bulk-exceptions" : "bell-schedules-day-changes";
    return client.post<DayChangeRow & DryRunResult>(route, {}, body, {}, query);
  };
  const takeBack = async (dayChangeId: string) => {
    await client.remove("bell-schedules-day-changes/{dayChangeId}", { dayChangeId });
    await queries.invalidateQueries({ queryKey: ["bell-schedules"] });
    await queries.invalidateQueries({ queryKey: ["bell-schedules-day-changes"] });
  };
  const saving = useRowMutation<Sent, void>("bell-schedules-day-changes", async (made) => {
    const { id, schedulesAffected } = await send(made);
    await queries.invalidateQueries({ queryKey: ["bell-schedules"] });
    const words = t("day-change.saved", { count: schedulesAffected.length });
    notify(words, made.isLasting ? undefined : () => void takeBack(id));
    onClose();
  });
  return { send, saving };
}

interface PartProps {
  draft: DayChangeDraft;
  change(part: Partial<DayChangeDraft>): void;
}

const QUICK_MINUTES = [60, 120] as const;

function KindFields({ draft, change }: PartProps) {
  const { t } = useTranslation();
  switch (draft.kind) {
    case "delay":
      return (
        <div className="row end">
          <NumberInput
            label={t("day-change.minutes")}
            min={1}
            max={720}
            value={draft.minutes}
            onChange={(minutes) => change({ minutes: Number(minutes) || 0 })}
          />
          {QUICK_MINUTES.map((minutes) => (
            <Button key={minutes} variant="default" onClick={() => change({ minutes })}>
              {t("day-change.hours", { count: minutes / 60 })}
            </Button>
          ))}
        </div>
      );
    case "early-dismissal":
      return <TimeField label={t("day-change.end")} value={draft.until} onChange={(until) => change({ until })} />;
    case "other-day":
      return <OtherDay draft={draft} change={change} />;
    case "exception":
      return <RingListField draft={draft} change={change} placeholder={t("day-change.no-bells")} />;
    case "no-bells":
      return null;
    default:
      return (
        <div className="row end">
          <TimeField label={t("day-change.from")} value={draft.from} onChange={(from) => change({ from })} />
          <TimeField label={t("day-change.until")} value={draft.until} onChange={(until) => change({ until })} />
        </div>
      );
  }
}

function OtherDay({ draft, change }: PartProps) {
  const { t } = useTranslation();
  return (
    <>
      <SegmentedChoice
        label={t("day-change.as")}
        value={draft.as}
        choices={[
          { value: "date", label: t("day-change.as-date") },
          { value: "ring-list", label: t("day-change.as-list") },
        ]}
        onChange={(as) => change({ as })}
      />
      {draft.as === "date" ? (
        <TextInput
          type="date"
          label={t("day-change.like")}
          value={draft.likeDate}
          onChange={(event) => change({ likeDate: event.currentTarget.value })}
        />
      ) : (
        <RingListField draft={draft} change={change} placeholder={t("day-change.choose-list")} />
      )}
    </>
  );
}

function RingListField({ draft, change, placeholder }: PartProps & { placeholder: string }) {
  const { t } = useTranslation();
  return (
    <RowSelect
      label={t("day-change.ring-list")}
      placeholder={placeholder}
      route="ring-lists"
      value={draft.ringListId}
      onChange={(ringListId) => change({ ringListId })}
    />
  );
}

function DayFields({ draft, change }: PartProps) {
  const { t } = useTranslation();
  return (
    <div className="row end">
      <TextInput
        type="date"
        required
        label={t("day-change.first-day")}
        value={draft.startDate}
        onChange={(event) => change({ startDate: event.currentTarget.value })}
      />
      <TextInput
        type="date"
        label={t("day-change.last-day")}
        min={draft.startDate}
        value={draft.endDate || draft.startDate}
        onChange={(event) => change({ endDate: event.currentTarget.value })}
      />
    </div>
  );
}

function WhichSchedules({ draft, change }: PartProps) {
  const { t } = useTranslation();
  return (
    <>
      <SegmentedChoice
        label={t("day-change.which")}
        value={draft.all ? "all" : "some"}
        choices={[
          { value: "all", label: t("day-change.all") },
          { value: "some", label: t("day-change.some") },
        ]}
        onChange={(value) => change({ all: value === "all" })}
      />
      {!draft.all && (
        <RowsSelect
          label={t("day-change.schedules")}
          placeholder={t("bells.choose")}
          route="bell-schedules"
          value={draft.bellScheduleIds}
          onChange={(bellScheduleIds) => change({ bellScheduleIds })}
        />
      )}
    </>
  );
}
