import { Checkbox, Textarea } from "@mantine/core";
import type { RouteQuery } from "../../api/routes.ts";
import { fieldErrorText } from "../../i18n/error-text.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import type { CustomFieldProps } from "../../ui/form/form-fields.ts";
import { TimeField } from "../../ui/time-field.tsx";
import { localTimeText, weekdayNames } from "./calendar-dates.ts";
import { cronOf, weeklyRuleOf } from "./recurrence-rule.ts";
import { DRY_RUN, useDryRunDiff } from "./use-ring-diff.ts";

interface PlannedTimes {
  nextLocalTimes?: readonly string[];
}

interface RecurrenceFieldsProps extends CustomFieldProps {
  /** The member that holds the rule. */
  field: "schedule" | "cronExpression";
  /** Lines of a calendar are taken too. */
  mayBeRule?: boolean;
  /** What is rehearsed to learn the next times; null while something else is missing. */
  body: object | null;
  ask(body: object, query: RouteQuery): Promise<PlannedTimes>;
}

/** A recurrence by time and weekdays, or as an expression; with the next times computed by the appliance. */
export function RecurrenceFields({
  field,
  mayBeRule = false,
  values,
  change,
  error,
  body,
  ask,
}: RecurrenceFieldsProps) {
  const translator = useTranslation();
  const { t, language } = translator;
  const text = String(values[field] ?? "");
  const rule = weeklyRuleOf(text);
  const set = (next: string) => change({ [field]: next });
  return (
    <section className="stack" aria-label={t("recurrence.title")}>
      {rule && (
        <>
          <TimeField
            label={t("ring.time")}
            value={rule.time}
            onChange={(time) => time && set(cronOf({ ...rule, time }))}
          />
          <fieldset className="choice" aria-label={t("recurrence.days")}>
            {weekdayNames(language, "short").map((name, at) => (
              <Checkbox
                key={name}
                label={name}
                checked={rule.days.includes(at)}
                // A rule without a day would never come.
                disabled={rule.days.length === 1 && rule.days.includes(at)}
                onChange={(event) =>
                  set(cronOf({ ...rule, days: daysWith(rule.days, at, event.currentTarget.checked) }))
                }
              />
            ))}
          </fieldset>
        </>
      )}
      <Textarea
        label={t("recurrence.written")}
        description={t(mayBeRule ? "recurrence.hint-rule" : "recurrence.hint")}
        required
        autosize
        minRows={1}
        styles={{ input: { fontFamily: "monospace" } }}
        value={text}
        error={fieldErrorText(error, field, translator)}
        onChange={(event) => set(event.currentTarget.value)}
      />
      <NextTimes {...{ field, body, ask }} />
    </section>
  );
}

function daysWith(days: readonly number[], at: number, isOn: boolean): number[] {
  return (isOn ? [...days, at] : days.filter((day) => day !== at)).sort((one, other) => one - other);
}

type NextTimesProps = Pick<RecurrenceFieldsProps, "field" | "body" | "ask">;

/** The next times, in the rule's zone, or the site's where it names none. */
function NextTimes({ field, body, ask }: NextTimesProps) {
  const translator = useTranslation();
  const { t, language } = translator;
  const query = { ...DRY_RUN, includeNextFireTimes: true };
  const found = useDryRunDiff<PlannedTimes>(body, (asked: object) => ask(asked, query));
  const times = found.answer?.nextLocalTimes;
  return (
    <section className="card" aria-live="polite" aria-busy={found.isPending} aria-label={t("recurrence.next")}>
      <h3>{t("recurrence.next")}</h3>
      {!body && <p className="soft">{t("recurrence.incomplete")}</p>}
      {found.error !== null && (
        <p className="fault" role="alert">
          {fieldErrorText(found.error, field, translator) ?? t("recurrence.unknown")}
        </p>
      )}
      {times?.length === 0 && <p>{t("recurrence.never")}</p>}
      <ul className="plain">
        {times?.map((at) => (
          <li key={at}>{localTimeText(at, language, "full")}</li>
        ))}
      </ul>
    </section>
  );
}
