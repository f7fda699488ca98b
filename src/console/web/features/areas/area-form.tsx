import { Button, MultiSelect, NumberInput, TextInput } from "@mantine/core";
import { fieldErrorText } from "../../i18n/error-text.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { useUnsavedChanges } from "../../ui/use-unsaved-changes.tsx";
import { type AreaDraft, isAreaComplete, withRadius } from "./area-draft.ts";
import "../../ui/input-styles.ts";

const KINDS = ["mobile", "desktop"];

interface AreaFormProps {
  draft: AreaDraft;
  /** What is saved of it; null for a new area. */
  before: AreaDraft | null;
  pending: boolean;
  error: unknown;
  onDraw(draft: AreaDraft): void;
  onSave(): void;
  onDiscard(): void;
  onRemove: (() => void) | undefined;
}

/** An area in numbers, which follow the map, as the map follows them. */
export function AreaForm({ draft, before, pending, error, onDraw, onSave, onDiscard, onRemove }: AreaFormProps) {
  const translator = useTranslation();
  const { t, name } = translator;
  const isDirty = JSON.stringify(draft) !== JSON.stringify(before);
  const isTyped = before === null ? draft.name !== "" : isDirty;
  const unsaved = useUnsavedChanges(isTyped && !pending);
  const number = (field: "latitude" | "longitude" | "radiusInM", most: number) => ({
    label: name("field", field),
    required: true,
    max: most,
    hideControls: true,
    value: draft[field],
    error: fieldErrorText(error, field, translator),
    onChange: (value: string | number) => onDraw({ ...draft, [field]: value === "" ? Number.NaN : Number(value) }),
  });
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (isAreaComplete(draft)) onSave();
      }}
    >
      <TextInput
        label={name("field", "name")}
        required
        maxLength={140}
        value={draft.name}
        error={fieldErrorText(error, "name", translator)}
        onChange={(event) => onDraw({ ...draft, name: event.currentTarget.value })}
      />
      <div className="row end">
        <NumberInput {...number("latitude", 90)} min={-90} className="grow" />
        <NumberInput {...number("longitude", 180)} min={-180} className="grow" />
      </div>
      <NumberInput
        {...number("radiusInM", 1_000_000)}
        min={1}
        allowDecimal={false}
        description={t("areas.radius-hint")}
        onBlur={() => Number.isFinite(draft.radiusInM) && onDraw(withRadius(draft, draft.radiusInM))}
      />
      <MultiSelect
        label={name("field", "syncedDeviceTypes")}
        description={t("areas.kinds-hint")}
        data={KINDS.map((value) => ({ value, label: name("device-kind", value) }))}
        value={[...draft.syncedDeviceTypes]}
        onChange={(syncedDeviceTypes) => onDraw({ ...draft, syncedDeviceTypes })}
      />
      {unsaved}
      <ErrorLine error={error} />
      <div className="row">
        <Button type="submit" loading={pending} disabled={!isDirty || !isAreaComplete(draft)}>
          {t("save")}
        </Button>
        {isDirty && before && (
          <Button variant="default" onClick={onDiscard}>
            {t("discard")}
          </Button>
        )}
        {onRemove && (
          <Button variant="default" c="var(--bad)" ml="auto" onClick={onRemove}>
            {t("remove")}
          </Button>
        )}
      </div>
      {onRemove && <p className="soft">{t("areas.removal")}</p>}
    </form>
  );
}
