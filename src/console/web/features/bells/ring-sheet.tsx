import { Button } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { parseSecondOfDay, secondOfDay } from "../../../../bells/local-time.ts";
import type { DayChangeRow, DryRunResult, RingListRow } from "../../api/bell-rows.ts";
import { useRowMutation } from "../../api/use-rows.ts";
import { useConsole, useNow } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { SegmentedChoice } from "../../ui/segmented-choice.tsx";
import { SideSheet } from "../../ui/side-sheet.tsx";
import { TimeField } from "../../ui/time-field.tsx";
import { useUnsavedChanges } from "../../ui/use-unsaved-changes.tsx";
import { dayText, shortTime } from "./calendar-dates.ts";
import { ListenButton } from "./listen-button.tsx";
import { RingDiff } from "./ring-diff.tsx";
import { ringEntryInputs } from "./ring-entries.ts";
import { hasSounded, RingOutcome } from "./ring-outcome.tsx";
import { RingStateChip } from "./ring-state.tsx";
import { DRY_RUN, useDryRunDiff } from "./use-ring-diff.ts";
import { type CalendarBlock, shiftTime } from "./week-layout.ts";

interface RingSheetProps {
  block: CalendarBlock;
  /** What it is called. */
  name: string;
  /** The ring list that it is of, where that may be seen. */
  list: RingListRow | null;
  scheduleNames: ReadonlyMap<string, string>;
  /** The time to which it was dragged. */
  to: string | null;
  onClose(): void;
}

/** One ring: what, when, how far, by ear; and moved to another time, with what that does before it is saved. */
export function RingSheet({ block, name, list, scheduleNames, to, onClose }: RingSheetProps) {
  const { t, language } = useTranslation();
  const { localDate, localTime, messageTemplateId, rings } = block;
  const now = useNow();
  // A past ring cannot be moved.
  const isAhead = rings.some(({ at }) => Date.parse(at) > now);
  return (
    <SideSheet title={`${shortTime(localTime)} ${name}`} onClose={onClose}>
      <div className="stack">
        <p>{dayText(localDate, language, "long")}</p>
        <ul className="plain">
          {rings.map((ring) => (
            <li key={ring.id} className="row">
              <RingStateChip ring={ring} />
              {hasSounded(ring) && (
                <Link to="/broadcasts/$notificationId" params={{ notificationId: ring.id }}>
                  {t("ring.message-sent")}
                </Link>
              )}
              {ring.playedAlone ? (
                <small className="soft">{t("ring.played-alone", { count: ring.playedAlone })}</small>
              ) : null}
              <Link to="/bell-schedules" search={{ open: ring.bellScheduleId }}>
                {scheduleNames.get(ring.bellScheduleId) ?? ""}
              </Link>
            </li>
          ))}
        </ul>
        {list && (
          <p className="soft">
            {t("ring.of-list")}{" "}
            <Link to="/ring-lists" search={{ open: list.id }}>
              {list.name}
            </Link>
          </p>
        )}
        {messageTemplateId && (
          <div>
            <ListenButton messageTemplateId={messageTemplateId} name={name} />
          </div>
        )}
        {rings.filter(hasSounded).map((ring) => (
          <RingOutcome key={ring.id} notificationId={ring.id} />
        ))}
        {isAhead && list?.permissions.includes("put") && list.entries.some(({ id }) => id === block.entryId) && (
          <Move block={block} list={list} to={to} onClose={onClose} />
        )}
      </div>
    </SideSheet>
  );
}

const ROUTE = "ring-lists/{ringListId}";
const DAY_CHANGES = "bell-schedules-day-changes";

type Reach = "day" | "list";

/** What is sent: a change of the one day, or other times in the ring list. */
type Sent = { reach: Reach; body: object };

/** Another time for the ring: on this day alone, or on every day of its ring list. */
function Move({ block, list, to, onClose }: Pick<RingSheetProps, "block" | "to" | "onClose"> & { list: RingListRow }) {
  const { t } = useTranslation();
  const [time, setTime] = useState(to ?? block.localTime);
  const [reach, setReach] = useState<Reach>("day");
  const isMoved = parseSecondOfDay(time) !== null && time !== block.localTime;
  const body = isMoved
    ? reach === "day"
      ? dayChangeOf(block, time)
      : { entries: entriesWith(list, block, time) }
    : null;
  const { rehearse, move } = useMoving({ list, time, onClose });
  const difference = useDryRunDiff(body && { reach, body }, rehearse);
  const unsaved = useUnsavedChanges(isMoved && !move.isPending && !move.isSuccess);
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (body) move.mutate({ reach, body });
      }}
    >
      <SegmentedChoice<Reach>
        label={t("ring.move-when")}
        value={reach}
        choices={[
          { value: "day", label: t("ring.move-day") },
          { value: "list", label: t("ring.move-list") },
        ]}
        onChange={setReach}
      />
      <TimeField
        label={t("ring.move-to")}
        description={reach === "day" ? t("ring.move-day-hint") : t("ring.move-hint", { list: list.name })}
        value={time}
        autoFocus={to !== null}
        onChange={setTime}
      />
      {isMoved && (
        <RingDiff
          difference={difference.answer?.ringDiff}
          error={difference.error}
          isPending={difference.isPending}
          before={t("ring-diff.counting")}
        />
      )}
      {unsaved}
      <ErrorLine error={move.error} />
      <div className="savebar">
        <Button type="submit" loading={move.isPending} disabled={!isMoved}>
          {t("ring.move")}
        </Button>
        {isMoved && (
          <Button variant="default" onClick={() => setTime(block.localTime)}>
            {t("discard")}
          </Button>
        )}
      </div>
    </form>
  );
}

/** Tells what a move does, and does it; it can be undone. */
function useMoving({ list, time, onClose }: { list: RingListRow; time: string; onClose(): void }) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const queries = useQueryClient();
  const params = { ringListId: list.id };
  const rehearse = ({ reach, body }: Sent): Promise<DryRunResult> =>
    reach === "list"
      ? client.put<DryRunResult>(ROUTE, params, body, DRY_RUN)
      : client.post<DryRunResult>(DAY_CHANGES, {}, body, {}, DRY_RUN);
  const takeBack = async (dayChangeId: string) => {
    await client.remove("bell-schedules-day-changes/{dayChangeId}", { dayChangeId });
    for (const name of ["bell-schedules", DAY_CHANGES]) await queries.invalidateQueries({ queryKey: [name] });
  };
  const move = useRowMutation<Sent, void>("ring-lists", async ({ reach, body }) => {
    const words = t("ring.moved", { time: shortTime(time) });
    if (reach === "list") {
      await client.put(ROUTE, params, body);
      notify(words, () => void client.put(ROUTE, params, { entries: ringEntryInputs(list.entries) }));
    } else {
      const { id } = await client.post<DayChangeRow>(DAY_CHANGES, {}, body);
      for (const name of ["bell-schedules", DAY_CHANGES]) await queries.invalidateQueries({ queryKey: [name] });
      notify(words, () => void takeBack(id));
    }
    onClose();
  });
  return { rehearse, move };
}

function dayChangeOf({ localDate, entryId, rings }: CalendarBlock, until: string): object {
  const bellScheduleIds = [...new Set(rings.map(({ bellScheduleId }) => bellScheduleId))];
  return { kind: "move-ring", startDate: localDate, entryId, until, bellScheduleIds };
}

/** On a day that is delayed the ring stands elsewhere than in its list: both move by as much. */
function entriesWith({ entries }: RingListRow, { entryId, localTime }: CalendarBlock, time: string) {
  const minutes = (secondOfDay(time) - secondOfDay(localTime)) / 60;
  return ringEntryInputs(entries).map((entry) =>
    entry.id === entryId ? { ...entry, time: shiftTime(entry.time, minutes) } : entry,
  );
}
