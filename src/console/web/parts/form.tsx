import { Button, MultiSelect, NumberInput, PasswordInput, Select, Switch, Textarea, TextInput } from "@mantine/core";
import { useEffect, useId, useRef, useState } from "react";
import { fieldFault } from "../words/fault-words.ts";
import { useWords } from "../words/use-words.tsx";
import { FaultLine } from "./fault-line.tsx";
import type { FormField, FormValues } from "./form-fields.ts";
import { changedValues, markIn, withMark } from "./form-fields.ts";
import { fromLocalText, toLocalText } from "./local-moment.ts";
import { useUnsaved } from "./use-unsaved.tsx";
import "./input-styles.ts";

interface FormProps {
  fields: readonly FormField[];
  /** The row as it is; empty for a new one. */
  before: FormValues;
  pending: boolean;
  error: unknown;
  /** Gets only what was changed. */
  onSave(changed: Record<string, unknown>): void;
  /** Removes it so that it can be taken back. */
  onRemove?: (() => void) | undefined;
}

/** One column of fields with a bar to save; the bar says what is not saved. */
export function Form({ fields, before, pending, error, onSave, onRemove }: FormProps) {
  const { t } = useWords();
  const [values, setValues] = useState<FormValues>(before);
  const place = useRef<HTMLFormElement>(null);
  const isNew = Object.keys(before).length === 0;
  useEffect(() => {
    // The sheet around it opened before the declaration was read, so its own search for a first field came too early.
    if (isNew) place.current?.querySelector<HTMLElement>("[data-autofocus]")?.focus();
  }, [isNew]);
  const changed = changedValues(before, values);
  const dirty = Object.keys(changed).length > 0;
  // What is being saved is not lost when the sheet closes behind it.
  const unsaved = useUnsaved(dirty && !pending);
  return (
    <form
      ref={place}
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (dirty) onSave(changed);
      }}
    >
      {fields.map((field, index) => (
        <Field
          key={field.name}
          first={index === 0}
          field={field}
          value={values[field.name]}
          error={error}
          onChange={(value) => setValues((old) => ({ ...old, [field.name]: value }))}
        />
      ))}
      {unsaved}
      <FaultLine error={error} />
      <div className="savebar">
        <Button type="submit" loading={pending} disabled={!dirty}>
          {t("save")}
        </Button>
        {dirty && (
          <Button variant="default" onClick={() => setValues(before)}>
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
  value: unknown;
  error: unknown;
  onChange(value: unknown): void;
}

function Field({ field, first, value, error, onChange }: FieldProps) {
  const words = useWords();
  const id = useId();
  const shared = {
    id,
    label: words.name("field", field.name),
    description: field.hint,
    required: field.required ?? false,
    "data-autofocus": first || undefined,
    error: fieldFault(error, field.name, words),
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
          checked={markIn(value, field.mark?.path ?? []) === true}
          onChange={(e) => onChange(withMark(value, field.mark?.path ?? [], e.currentTarget.checked))}
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
    case "secret":
      return (
        <PasswordInput
          {...shared}
          autoComplete="new-password"
          placeholder={words.t("form.secret")}
          value={text}
          visibilityToggleButtonProps={{ "aria-label": words.t("form.reveal") }}
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
          value={toLocalText(text)}
          onChange={(e) => onChange(fromLocalText(e.currentTarget.value))}
        />
      );
    case "json":
      return <JsonField shared={shared} value={value} onChange={onChange} />;
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

interface JsonFieldProps {
  shared: { id: string; label: string; description: string | undefined; required: boolean; error: string | null };
  value: unknown;
  onChange(value: unknown): void;
}

function JsonField({ shared, value, onChange }: JsonFieldProps) {
  const { t } = useWords();
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
  return (
    <Textarea
      {...shared}
      error={bad ? t("form.bad-json") : shared.error}
      autosize
      minRows={3}
      styles={{ input: { fontFamily: "monospace" } }}
      value={text}
      onChange={(event) => take(event.currentTarget.value)}
    />
  );
}
