import { Autocomplete, Button, Checkbox, Select, TextInput } from "@mantine/core";
import type { FilterInput } from "../../api/rows.ts";
import { fieldErrorText } from "../../i18n/error-text.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ATTRIBUTES, COMPARISONS, expressionError, FILTER_TYPES, type GroupDraft } from "./group-definition.ts";
import "../../ui/input-styles.ts";

interface GroupFilterRowProps {
  draft: GroupDraft;
  onChange(part: Partial<GroupDraft>): void;
}

/** Filters and how they combine. */
export function GroupFilterRow({ draft, onChange }: GroupFilterRowProps) {
  const translator = useTranslation();
  const { t, name } = translator;
  const fault = fieldErrorText(expressionError(draft), "logicalExpression", translator);
  const put = (index: number, part: Partial<FilterInput>) =>
    onChange({ filters: draft.filters.map((each, at) => (at === index ? { ...each, ...part } : each)) });
  const hasFilters = draft.filterType !== "ACCEPT" && draft.filterType !== "REJECT";
  return (
    <>
      <Select
        label={t("field.filterType")}
        allowDeselect={false}
        data={FILTER_TYPES.map((each) => ({ value: each, label: name("filter-type", each) }))}
        value={draft.filterType}
        onChange={(filterType) => onChange({ filterType: filterType ?? "AND" })}
      />
      {hasFilters &&
        draft.filters.map((filter, index) => (
          <FilterRow
            // biome-ignore lint/suspicious/noArrayIndexKey: a filter is known by its number alone
            key={index}
            number={index + 1}
            filter={filter}
            onChange={(part) => put(index, part)}
            onRemove={() => onChange({ filters: draft.filters.filter((_, at) => at !== index) })}
          />
        ))}
      {hasFilters && (
        <div>
          <Button
            variant="default"
            size="compact-md"
            onClick={() =>
              onChange({
                filters: [...draft.filters, { attribute: "ServiceDeviceType", comparison: "EQUALS", value: "" }],
              })
            }
          >
            {t("groups.add-filter")}
          </Button>
        </div>
      )}
      {draft.filterType === "LOGICAL_EXPRESSION" && (
        <TextInput
          label={t("field.logicalExpression")}
          description={t("groups.expression-hint")}
          value={draft.logicalExpression}
          error={fault}
          onChange={(event) => onChange({ logicalExpression: event.currentTarget.value })}
        />
      )}
    </>
  );
}

interface FilterRowProps {
  number: number;
  filter: FilterInput;
  onChange(part: Partial<FilterInput>): void;
  onRemove(): void;
}

function FilterRow({ number, filter, onChange, onRemove }: FilterRowProps) {
  const { t, name } = useTranslation();
  return (
    <fieldset className="card">
      <legend>{t("groups.filter", { number })}</legend>
      <div className="row">
        <Autocomplete
          aria-label={t("groups.attribute")}
          data={ATTRIBUTES}
          value={filter.attribute}
          onChange={(attribute) => onChange({ attribute })}
        />
        <Select
          aria-label={t("groups.comparison")}
          allowDeselect={false}
          data={COMPARISONS.map((each) => ({ value: each, label: name("comparison", each) }))}
          value={filter.comparison}
          onChange={(comparison) => onChange({ comparison: comparison ?? "EQUALS" })}
        />
        <TextInput
          aria-label={t("groups.value")}
          placeholder={t("groups.value")}
          value={filter.value}
          onChange={(event) => onChange({ value: event.currentTarget.value })}
        />
      </div>
      <div className="row">
        <Checkbox
          label={t("groups.complement")}
          checked={filter.complement === true}
          onChange={(event) => onChange({ complement: event.currentTarget.checked })}
        />
        <span className="space" />
        <Button
          variant="default"
          size="compact-sm"
          onClick={onRemove}
          aria-label={t("groups.remove-filter", { number })}
        >
          {t("remove")}
        </Button>
      </div>
    </fieldset>
  );
}
