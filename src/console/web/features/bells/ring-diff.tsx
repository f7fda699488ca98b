import type { RingChanges } from "../../api/bell-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { dayText, shortTime } from "./calendar-dates.ts";
import { Overlaps } from "./overlaps.tsx";
import { useScheduleNames, useTemplateNames } from "./use-bells.ts";

interface RingDiffProps {
  /** Null while nothing is known. */
  difference: RingChanges | null | undefined;
  error: unknown;
  isPending: boolean;
  /** What is said before anything was asked. */
  before: string;
  /** Names schedules beside the rings; left out where there is only one. */
  ofMany?: boolean;
}

/** Changes that a write makes to the rings, before it is saved: counts, the first ones by name, and warnings. */
export function RingDiff({ difference, error, isPending, before, ofMany = true }: RingDiffProps) {
  const { t } = useTranslation();
  return (
    <section className="card difference" aria-live="polite" aria-busy={isPending} aria-label={t("ring-diff.title")}>
      <h3>{t("ring-diff.title")}</h3>
      {!difference && !error && <p className="soft">{isPending ? t("ring-diff.counting") : before}</p>}
      <ErrorLine error={error} />
      {difference && <Counted difference={difference} ofMany={ofMany} />}
    </section>
  );
}

function Counted({ difference, ofMany }: { difference: RingChanges; ofMany: boolean }) {
  const { t } = useTranslation();
  const { added, removed, moved, partial, overlaps } = difference;
  const names = useNames(difference, ofMany);
  if (added.count + removed.count + moved.count === 0) {
    return (
      <>
        <RingDiffSummary difference={difference} />
        <Overlaps count={overlaps.count} overlaps={overlaps.first} />
      </>
    );
  }
  const ring = (each: PlannedTimes, sign: string, text: string) => (
    <li key={`${sign} ${each.bellScheduleId} ${each.entryId} ${each.at}`}>
      <span aria-hidden="true" className="ring-sign">
        {sign}
      </span>{" "}
      {text} <small className="soft">{names(each)}</small>
    </li>
  );
  return (
    <>
      <RingDiffSummary difference={difference} />
      {partial && <p className="soft">{t("ring-diff.partial")}</p>}
      <ul className="plain difference-rings">
        {moved.first
          .slice(0, SHOWN)
          .map((each) =>
            ring(
              each,
              "→",
              t("ring-diff.from-to", { from: shortTime(each.localTime), to: shortTime(each.movedTo.localTime) }),
            ),
          )}
        {removed.first.slice(0, SHOWN).map((each) => ring(each, "−", shortTime(each.localTime)))}
        {added.first.slice(0, SHOWN).map((each) => ring(each, "+", shortTime(each.localTime)))}
      </ul>
      <More hidden={[moved, removed, added].reduce((sum, { count }) => sum + Math.max(0, count - SHOWN), 0)} />
      <Overlaps count={overlaps.count} overlaps={overlaps.first} />
    </>
  );
}

/** The changes in one line, such as beside a save button. */
export function RingDiffSummary({ difference }: { difference: RingChanges }) {
  const { t } = useTranslation();
  const { added, removed, moved, schedules } = difference;
  if (added.count + removed.count + moved.count === 0) return <p className="reach-line">{t("ring-diff.none")}</p>;
  return (
    <p className="reach-line">
      {moved.count > 0 && <strong>{t("ring-diff.moved", { count: moved.count })}</strong>}
      {removed.count > 0 && <strong>{t("ring-diff.removed", { count: removed.count })}</strong>}
      {added.count > 0 && <strong>{t("ring-diff.added", { count: added.count })}</strong>}
      {schedules > 1 && <span>{t("ring-diff.schedules", { count: schedules })}</span>}
    </p>
  );
}

const SHOWN = 8;

function More({ hidden }: { hidden: number }) {
  const { t } = useTranslation();
  return hidden > 0 ? <p className="soft">{t("ring-diff.more", { count: hidden })}</p> : null;
}

type PlannedTimes = RingChanges["added"]["first"][number];

/** What stands small beside a ring: day, message, schedule. */
function useNames({ added, removed, moved }: RingChanges, ofMany: boolean): (ring: PlannedTimes) => string {
  const { language } = useTranslation();
  const shown = [added, removed, moved].flatMap(({ first }) => first.slice(0, SHOWN));
  const templates = useTemplateNames(shown.map(({ messageTemplateId }) => messageTemplateId));
  const schedules = useScheduleNames(ofMany ? shown.map(({ bellScheduleId }) => bellScheduleId) : []);
  return ({ localDate, messageTemplateId, bellScheduleId }) =>
    [dayText(localDate, language, "column"), templates.get(messageTemplateId), schedules.get(bellScheduleId)]
      .filter(Boolean)
      .join(" · ");
}
