import { TextInput } from "@mantine/core";
import { useTranslation } from "../../i18n/use-translation.tsx";

const COLUMNS = ["key", "name", "email", "lists", "sms", "phone"] as const;

/** Which column of a table holds what. */
export function MappingField({ value, onChange }: { value: unknown; onChange: (mapping: object) => void }) {
  const { t, name } = useTranslation();
  const mapping = (value ?? {}) as Readonly<Record<string, string | null>>;
  return (
    <details>
      <summary>{t("load.mapping")}</summary>
      <p className="soft">{t("load.mapping-text")}</p>
      {COLUMNS.map((column) => (
        <TextInput
          key={column}
          label={name("load-column", column)}
          placeholder={column === "key" ? "email" : column}
          maxLength={255}
          value={mapping[column] ?? ""}
          onChange={(event) => onChange({ ...mapping, [column]: event.currentTarget.value || null })}
        />
      ))}
    </details>
  );
}
