import { Button, MultiSelect, NumberInput, PasswordInput, Select, Switch, Textarea, TextInput } from "@mantine/core";
import { Fragment, useEffect, useId, useRef, useState } from "react";
import { fieldErrorText } from "../../i18n/error-text.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine, ErrorText } from "../error-line.tsx";
import { FileField } from "../file-field.tsx";
import { fromDateTimeInput, toDateTimeInput } from "../local-time.ts";
import { useUnsavedChanges } from "../use-unsaved-changes.tsx";
import { FieldConflict, RestoredNote } from "./edit-notes.tsx";
import type { DraftPlace } from "./form-drafts.ts";
import type { FormField, FormValues } from "./form-fields.ts";
import { changedValues, parentIds, valueAtPath, withValue, withValueAtPath } from "./form-fields.ts";
import { RowSelect } from "./row-select.tsx";
import { RowsSelect } from "./rows-select.tsx";
import { useFormValues } from "./use-form-values.ts";
import "../fields.css";
import "../input-styles.ts";

interface FormProps {
  fields: readonly FormField[];
  /** The row as it is; empty for a new one. */
  before: FormValues;
  /** What a new row begins with. */
  initial?: FormValues;
  pending: boolean;
  error: unknown;
  /** Where input is kept until it is saved; nowhere unless given. */
  draft?: DraftPlace | undefined;
  /** Gets only what was changed. */
  onSave(changed: Record<string, unknown>): void;
  /** Removes it so that it can be taken back. */
  onRemove?: (() => void) | undefined;
  /** Receives the values of the fields, for a preview. */
  onValues?(values: FormValues): void;
}

/** One column of fields with a save bar that shows unsaved changes. */
export function Form({ fields, before, initial = {}, pending, error, draft, onSave, onRemove, onValues }: FormProps) {
  const { t } = useTranslation();
  const start = { ...initial, ...before };
  const { values, setValues, conflicts, restoredAt, dirty, submit, settle, discard } = useFormValues({
    start,
    pending,
    error,
    draft,
  });
  const place = useRef<HTMLFormElement>(null);
  const isNew = Object.keys(before).length === 0;
  useEffect(() => {
    // The sheet around it opened before the declaration was read, so its own search for a first field came too early.
    if (isNew) place.current?.querySelector<HTMLElement>("[data-autofocus]")?.focus();
  }, [isNew]);
  useEffect(() => onValues?.(values), [onValues, values]);
  // Changes that are being saved are not lost when the sheet closes.
  const unsaved = useUnsavedChanges(dirty && !pending, discard);
  const shownFields = fields.filter(({ shown }) => shown?.(values) ?? true);
  const draw = (field: FormField, first: boolean, drawn: FormValues) =>
    field.draw ? (
      field.draw({ values: drawn, change: (part) => setValues((old) => ({ ...old, ...part })), error })
    ) : (
      <Field
        first={first}
        field={field}
        required={field.requiredWhen?.(drawn, before) ?? field.required ?? false}
        values={drawn}
        error={error}
        onChange={(value) => setValues((old) => withValue(fields, old, field.name, value))}
      />
    );
  const hidden = [...conflicts.keys()].filter((name) => !shownFields.some((field) => field.name === name));
  return (
    <form
      ref={place}
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (!dirty || conflicts.size > 0) return;
        const changed = changedValues(before, values);
        submit(changed);
        onSave(changed);
      }}
    >
      {restoredAt !== null && dirty && <RestoredNote at={restoredAt} />}
      {shownFields.map((field, index) => (
        <Fragment key={field.name}>
          {field.heading && <h3 className="form-heading">{field.heading}</h3>}
          {draw(field, index === 0, values)}
          {conflicts.has(field.name) && (
            <FieldConflict name={field.name} onSettle={settle}>
              {draw(field, false, { ...values, [field.name]: conflicts.get(field.name) })}
            </FieldConflict>
          )}
        </Fragment>
      ))}
      {hidden.map((name) => (
        <FieldConflict key={name} name={name} onSettle={settle}>
          <code>{JSON.stringify(conflicts.get(name)) ?? t("edit-conflict.nothing")}</code>
        </FieldConflict>
      ))}
      {unsaved}
      {conflicts.size > 0 ? (
        <ErrorText again={null}>{t("edit-conflict.some", { count: conflicts.size })}</ErrorText>
      ) : (
        <ErrorLine error={error} />
      )}
      <div className="savebar">
        <Button type="submit" loading={pending} disabled={!dirty || conflicts.size > 0}>
          {t("save")}
        </Button>
        {dirty && (
          <Button variant="default" onClick={discard}>
            {t("discard")}
          </Button>
        )}
        {onRemove && (
          <Button variant="default" c="var(--bad)" ml="auto" onClick={onRemove}>
            {t("remove")}
          </Button>
        )}
      </div>
    </form>
  );
}

interface FieldProps {
  field: FormField;
  /** The sheet begins here. */
  first: boolean;
  required: boolean;
  values: FormValues;
  error: unknown;
  onChange(value: unknown): void;
}

function Field({ field, first, required, values, error, onChange }: FieldProps) {
  const translator = useTranslation();
  const id = useId();
  const value = values[field.name];
  const label =
    field.label === undefined ? translator.name("field", field.name) : translator.say(field.label, field.labelSentence);
  const shared = {
    id,
    label,
    description: field.hint && translator.say(field.hint, field.hintSentence),
    required,
    "data-autofocus": first || undefined,
    error: fieldErrorText(error, field.name, translator, field.labelSentence && label),
  };
  const text = typeof value === "string" ? value : "";
  const lines = Array.isArray(value) ? value.map(String) : [];
  switch (field.kind) {
    case "long":
      return (
        <Textarea {...shared} autosize minRows={3} value={text} onChange={(e) => onChange(e.currentTarget.value)} />
      );
    case "lines":
      return (
        <Textarea
          {...shared}
          autosize
          minRows={3}
          value={lines.join("\n")}
          onChange={(e) => onChange(e.currentTarget.value === "" ? [] : e.currentTarget.value.split("\n"))}
        />
      );
    case "number":
      return (
        <NumberInput
          {...shared}
          value={typeof value === "number" ? value : ""}
          {...(field.min === undefined ? {} : { min: field.min })}
          {...(field.max === undefined ? {} : { max: field.max })}
          onChange={(next) => onChange(next === "" ? null : Number(next))}
        />
      );
    case "switch":
      return (
        <Switch
          id={id}
          label={shared.label}
          description={shared.description}
          checked={value === true}
          onChange={(e) => onChange(e.currentTarget.checked)}
        />
      );
    case "mark":
      return (
        <Switch
          id={id}
          label={field.mark?.label}
          description={shared.description}
          checked={valueAtPath(value, field.mark?.path ?? []) === true}
          onChange={(e) => onChange(withValueAtPath(value, field.mark?.path ?? [], e.currentTarget.checked))}
        />
      );
    case "choice":
      return (
        <Select
          {...shared}
          data={[...(field.choices ?? [])]}
          value={text || null}
          clearable={!field.required}
          searchable
          onChange={onChange}
        />
      );
    case "many":
      return <MultiSelect {...shared} data={[...(field.choices ?? [])]} value={lines} searchable onChange={onChange} />;
    case "row":
    case "rows":
      return <RowsField {...{ field, shared, values, onChange }} />;
    case "file":
      return <FileField {...shared} accept={field.accept ?? []} value={value} onChange={onChange} />;
    case "color":
      return (
        <TextInput
          {...shared}
          maxLength={7}
          value={text}
          onChange={(e) => onChange(e.currentTarget.value)}
          leftSection={
            <input
              type="color"
              className="color-pick"
              aria-label={translator.t("form.pick-color", { label: shared.label })}
              value={/^#[0-9a-f]{6}$/i.test(text) ? text : "#ffffff"}
              onChange={(e) => onChange(e.currentTarget.value)}
            />
          }
        />
      );
    case "secret":
      return (
        <PasswordInput
          {...shared}
          autoComplete="new-password"
          placeholder={translator.t("form.secret")}
          value={text}
          visibilityToggleButtonProps={{ "aria-label": translator.t("form.reveal") }}
          onChange={(e) => onChange(e.currentTarget.value)}
        />
      );
    case "day":
      return (
        <TextInput {...shared} type="date" value={text} onChange={(e) => onChange(e.currentTarget.value || null)} />
      );
    case "moment":
      return (
        <TextInput
          {...shared}
          type="datetime-local"
          value={toDateTimeInput(text)}
          onChange={(e) => onChange(fromDateTimeInput(e.currentTarget.value))}
        />
      );
    case "json":
      return <JsonField shared={shared} presets={field.presets ?? []} value={value} onChange={onChange} />;
    default:
      return (
        <TextInput
          {...shared}
          {...(field.max === undefined ? {} : { maxLength: field.max })}
          value={text}
          onChange={(e) => onChange(e.currentTarget.value)}
        />
      );
  }
}

/** What every field says of itself. */
interface Shared {
  id: string;
  label: string;
  description: string | undefined;
  required: boolean;
  error: string | null;
}

interface RowsFieldProps {
  field: FormField;
  shared: Shared;
  values: FormValues;
  onChange(value: unknown): void;
}

function RowsField({ field, shared, values, onChange }: RowsFieldProps) {
  const { t } = useTranslation();
  const value = values[field.name];
  const params = parentIds(field, values);
  if (!field.from) return null;
  const { required, ...rest } = shared;
  const props = { ...rest, withAsterisk: required, route: field.from, placeholder: t("form.choose") };
  if (field.kind === "rows") {
    return <RowsSelect {...props} value={Array.isArray(value) ? value.map(String) : []} onChange={onChange} />;
  }
  return (
    <RowSelect
      {...props}
      params={params ?? {}}
      {...(field.query ? { query: field.query } : {})}
      disabled={params === null}
      value={typeof value === "string" ? value : null}
      onChange={onChange}
    />
  );
}

interface JsonFieldProps {
  shared: Shared;
  presets: NonNullable<FormField["presets"]>;
  value: unknown;
  onChange(value: unknown): void;
}

function JsonField({ shared, presets, value, onChange }: JsonFieldProps) {
  const { t } = useTranslation();
  const [text, setText] = useState(() => (value === undefined || value === null ? "" : JSON.stringify(value, null, 2)));
  const [bad, setBad] = useState(false);
  const take = (next: string) => {
    setText(next);
    try {
      onChange(next.trim() === "" ? null : JSON.parse(next));
      setBad(false);
    } catch {
      setBad(true);
    }
  };
  const add = (title: string | null) => {
    const preset = presets.find((each) => each.title === title);
    if (preset) take(JSON.stringify([...(Array.isArray(value) ? value : []), preset.value], null, 2));
  };
  return (
    <>
      <Textarea
        {...shared}
        error={bad ? t("form.bad-json") : shared.error}
        autosize
        minRows={3}
        styles={{ input: { fontFamily: "monospace" } }}
        value={text}
        onChange={(event) => take(event.currentTarget.value)}
      />
      {presets.length > 0 && (
        <Select
          label={t("form.add-preset", { label: shared.label })}
          data={presets.map(({ title }) => title)}
          value={null}
          disabled={bad}
          searchable
          onChange={add}
        />
      )}
    </>
  );
}
