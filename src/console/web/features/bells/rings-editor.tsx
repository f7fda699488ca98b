import { Button } from "@mantine/core";
import { useState } from "react";
import { formatSecondOfDay, secondOfDay } from "../../../../bells/local-time.ts";
import type { RingEntry } from "../../api/bell-rows.ts";
import { fieldErrorText } from "../../i18n/error-text.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import type { CustomFieldProps } from "../../ui/form/form-fields.ts";
import { RowSelect } from "../../ui/form/row-select.tsx";
import { RowsSelect } from "../../ui/form/rows-select.tsx";
import { TimeField } from "../../ui/time-field.tsx";
import { shortTime } from "./calendar-dates.ts";
import { ListenButton } from "./listen-button.tsx";
import { type RingEntryInput, ringEntryInputs } from "./ring-entries.ts";

const LIMIT = 500;
const LESSON_S = 45 * 60;
const LAST_S = 86_399;

/** The rings of a ring list: time, message and recipients. */
export function RingsEditor({ values, change, error }: CustomFieldProps) {
  const { t } = useTranslation();
  const given = (values.entries ?? []) as readonly (RingEntry | RingEntryInput)[];
  const set = (entries: readonly (RingEntry | RingEntryInput)[]) => change({ entries: ringEntryInputs(entries) });
  const setOne = (at: number, part: Partial<RingEntryInput>) =>
    set(given.map((entry, index) => (index === at ? { ...entry, ...part } : entry)));
  return (
    <section className="stack" aria-label={t("ring-lists.rings")}>
      <h3 className="form-heading">{t("ring-lists.rings")}</h3>
      <p className="soft">{t("ring-lists.limits", { count: given.length, most: LIMIT })}</p>
      {given.map((entry, at) => (
        <Entry
          key={entry.id ?? `new ${at}`}
          {...{ entry, at, error }}
          onChange={(part) => setOne(at, part)}
          onRemove={() => set(given.filter((_, index) => index !== at))}
        />
      ))}
      {given.length < LIMIT && (
        <div>
          <Button variant="default" onClick={() => set([...given, nextEntry(given)])}>
            {t("ring-lists.add-ring")}
          </Button>
        </div>
      )}
    </section>
  );
}

/** A lesson after the last ring, with its message. */
function nextEntry(entries: readonly (RingEntry | RingEntryInput)[]): RingEntryInput {
  const last = entries.at(-1);
  const time = last ? formatSecondOfDay(Math.min(LAST_S, secondOfDay(last.time) + LESSON_S)) : "08:00:00";
  return {
    time,
    messageTemplateId: last?.messageTemplateId ?? null,
    deviceGroupIds: last?.deviceGroupIds ?? [],
    distributionListIds: last?.distributionListIds ?? [],
  };
}

interface EntryProps {
  entry: RingEntry | RingEntryInput;
  at: number;
  error: unknown;
  onChange(part: Partial<RingEntryInput>): void;
  onRemove(): void;
}

function Entry({ entry, at, error, onChange, onRemove }: EntryProps) {
  const translator = useTranslation();
  const { t } = translator;
  const fault = (member: string) => fieldErrorText(error, `entries[${at}].${member}`, translator);
  const { time, messageTemplateId } = entry;
  const name = shortTime(time);
  return (
    <fieldset className="card part entry" aria-label={t("ring-lists.ring", { time: name })}>
      <div className="entry-line">
        <TimeField
          label={t("ring.time")}
          required
          value={time}
          error={fault("time")}
          onChange={(next) => next !== "" && onChange({ time: next })}
        />
        <RowSelect
          label={t("ring.message")}
          placeholder={t("form.choose")}
          withAsterisk
          route="message-templates"
          value={messageTemplateId}
          error={fault("messageTemplateId")}
          onChange={(id) => onChange({ messageTemplateId: id })}
        />
        <Button
          variant="default"
          c="var(--bad)"
          aria-label={t("remove.named", { word: t("remove"), name })}
          onClick={onRemove}
        >
          {t("remove")}
        </Button>
        <Who {...{ entry, name, onChange }} />
      </div>
    </fieldset>
  );
}

/** Whom a ring reaches instead of its message's own recipients, and how it sounds. */
function Who({ entry, name, onChange }: Pick<EntryProps, "entry" | "onChange"> & { name: string }) {
  const { t } = useTranslation();
  const { messageTemplateId, deviceGroupIds, distributionListIds } = entry;
  const n = deviceGroupIds.length + distributionListIds.length;
  // A long list would render hundreds of fields that stay closed.
  const [isOpen, setOpen] = useState(false);
  return (
    <details className="entry-who" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{n === 0 ? t("ring.to-message") : t("ring.to-n", { count: n })}</summary>
      {isOpen && (
        <div className="stack">
          <RowsSelect
            label={t("field.deviceGroupIds")}
            placeholder={t("ring.as-message")}
            route="device-groups"
            value={deviceGroupIds}
            onChange={(ids) => onChange({ deviceGroupIds: ids })}
          />
          <RowsSelect
            label={t("field.distributionListIds")}
            placeholder={t("ring.as-message")}
            route="distribution-lists"
            value={distributionListIds}
            onChange={(ids) => onChange({ distributionListIds: ids })}
          />
          {messageTemplateId && (
            <div>
              <ListenButton messageTemplateId={messageTemplateId} name={name} />
            </div>
          )}
        </div>
      )}
    </details>
  );
}
