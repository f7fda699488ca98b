import { Button, TextInput } from "@mantine/core";
import type { ScheduleExceptionRow } from "../../api/bell-rows.ts";
import { fieldErrorText } from "../../i18n/error-text.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import type { CustomFieldProps } from "../../ui/form/form-fields.ts";
import { RowSelect } from "../../ui/form/row-select.tsx";
import { dateRangeText, ringListChangeText } from "./day-change-text.ts";

const LIMIT = 1_000;

type Exception = Omit<ScheduleExceptionRow, "id"> & { id?: string };

/** Exceptions of a schedule from its cycle. */
export function ExceptionsEditor({ values, change, error }: CustomFieldProps) {
  const { t } = useTranslation();
  const given = (values.bellScheduleExceptions ?? []) as readonly Exception[];
  const set = (bellScheduleExceptions: readonly Exception[]) => change({ bellScheduleExceptions });
  return (
    <section className="stack" aria-label={t("schedules.exceptions")}>
      <h3 className="form-heading">{t("schedules.exceptions")}</h3>
      <p className="soft">{t("schedules.exceptions-text", { count: given.length, most: LIMIT })}</p>
      {given.map((exception, at) => (
        <ExceptionLine
          key={exception.id ?? `new ${at}`}
          {...{ exception, at, error }}
          onChange={(part) => set(given.map((each, index) => (index === at ? { ...each, ...part } : each)))}
          onRemove={() => set(given.filter((_, index) => index !== at))}
        />
      ))}
      {given.length < LIMIT && (
        <div>
          <Button variant="default" onClick={() => set([...given, newException(String(values.startDate ?? ""))])}>
            {t("schedules.add-exception")}
          </Button>
        </div>
      )}
    </section>
  );
}

function newException(day: string): Exception {
  return { startDate: day, endDate: day, ringListId: null, description: null, ringListChanges: [] };
}

interface ExceptionLineProps {
  exception: Exception;
  at: number;
  error: unknown;
  onChange(part: Partial<Exception>): void;
  onRemove(): void;
}

/** One exception; folded, as a schedule may have many. */
function ExceptionLine({ exception, at, error, onChange, onRemove }: ExceptionLineProps) {
  const translator = useTranslation();
  const { t, language } = translator;
  const { id, startDate, endDate, ringListId, ringListName, description, ringListChanges, dayChangeId } = exception;
  const fault = (member: string) => fieldErrorText(error, `bellScheduleExceptions[${at}].${member}`, translator);
  const how = ringListId === null ? t("schedules.silent") : (ringListName ?? "");
  const changes = ringListChanges.map((change) => ringListChangeText(change, translator));
  return (
    <details {...(id === undefined ? { open: true } : {})}>
      <summary>
        {[dateRangeText(exception, language), how, ...changes, description].filter(Boolean).join(" · ")}
      </summary>
      <div className="stack exception-line">
        {dayChangeId && <p className="soft">{t("schedules.of-day-change")}</p>}
        <div className="row end">
          <TextInput
            type="date"
            required
            label={t("day-change.first-day")}
            value={startDate}
            error={fault("startDate")}
            onChange={(event) => onChange({ startDate: event.currentTarget.value })}
          />
          <TextInput
            type="date"
            required
            label={t("day-change.last-day")}
            value={endDate}
            error={fault("endDate")}
            onChange={(event) => onChange({ endDate: event.currentTarget.value })}
          />
        </div>
        <RowSelect
          label={t("day-change.ring-list")}
          placeholder={t("day-change.no-bells")}
          route="ring-lists"
          value={ringListId}
          error={fault("ringListId")}
          onChange={(next) => onChange({ ringListId: next, ...(next === null ? { ringListChanges: [] } : {}) })}
        />
        <TextInput
          label={t("day-change.why")}
          maxLength={250}
          value={description ?? ""}
          onChange={(event) => onChange({ description: event.currentTarget.value || null })}
        />
        <div>
          <Button variant="default" c="var(--bad)" onClick={onRemove}>
            {t("schedules.remove-exception")}
          </Button>
        </div>
      </div>
    </details>
  );
}
