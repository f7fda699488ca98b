import { MultiSelect, Select } from "@mantine/core";
import { useAppliances } from "../../api/use-rows.ts";
import { fieldErrorText } from "../../i18n/error-text.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import "../input-styles.ts";

interface AppliancesFieldProps {
  name: string;
  label: string;
  error: unknown;
}

/** Several appliances, in the order in which they are chosen. */
export function AppliancesField({
  value,
  onChange,
  ...field
}: AppliancesFieldProps & { value: unknown; onChange(ids: string[]): void }) {
  const translator = useTranslation();
  return (
    <MultiSelect
      label={field.label}
      required
      error={fieldErrorText(field.error, field.name, translator)}
      data={useChoices()}
      value={Array.isArray(value) ? value.map(String) : []}
      onChange={onChange}
    />
  );
}

/** One appliance. */
export function ApplianceField({
  value,
  onChange,
  ...field
}: AppliancesFieldProps & { value: unknown; onChange(id: string | null): void }) {
  const translator = useTranslation();
  return (
    <Select
      label={field.label}
      required
      error={fieldErrorText(field.error, field.name, translator)}
      data={useChoices()}
      value={typeof value === "string" ? value : null}
      onChange={onChange}
    />
  );
}

function useChoices(): { value: string; label: string }[] {
  return useAppliances().map(({ id, name }) => ({ value: id, label: name ?? id }));
}
