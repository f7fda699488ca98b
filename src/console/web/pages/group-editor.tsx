import { Autocomplete, Button, Checkbox, Select, Textarea, TextInput } from "@mantine/core";
import { useEffect, useState } from "react";
import type { DeviceRow, FilterInput, GroupRow } from "../api/rows.ts";
import { useChange, useRow, useRows } from "../api/use-rows.ts";
import { useConsole } from "../console-context.tsx";
import { FaultLine } from "../parts/fault-line.tsx";
import { NEW } from "../parts/row-sheet.tsx";
import { SideSheet } from "../parts/side-sheet.tsx";
import { useRemoval } from "../parts/use-removal.ts";
import { useUnsaved } from "../parts/use-unsaved.tsx";
import { fieldFault } from "../words/fault-words.ts";
import { useWords } from "../words/use-words.tsx";
import {
  ATTRIBUTES,
  COMPARISONS,
  draftOf,
  expressionFault,
  FILTER_TYPES,
  type GroupDraft,
  groupBodyOf,
  isComplete,
} from "./group-definition.ts";
import "../parts/input-styles.ts";

/** A group's rule, with the devices it chooses counted while it is edited. */
export function GroupEditor({ id, onClose }: { id: string; onClose: () => void }) {
  const { t } = useWords();
  const isNew = id === NEW;
  const row = useRow<GroupRow>("device-groups/{deviceGroupId}", { deviceGroupId: id }, {}, { enabled: !isNew });
  const ready = isNew || row.data?.id === id;
  return (
    <SideSheet title={isNew ? t("groups.add") : (row.data?.name ?? "")} onClose={onClose}>
      <FaultLine error={row.error} />
      {ready && <Editor group={isNew ? null : (row.data ?? null)} onClose={onClose} />}
    </SideSheet>
  );
}

function Editor({ group, onClose }: { group: GroupRow | null; onClose: () => void }) {
  const words = useWords();
  const { t } = words;
  const { client, say } = useConsole();
  const [draft, setDraft] = useState<GroupDraft>(() => draftOf(group));
  const change = (part: Partial<GroupDraft>) => setDraft((old) => ({ ...old, ...part }));
  const params = { deviceGroupId: group?.id ?? "" };
  const saving = useChange<void, void>("device-groups", async () => {
    if (group) await client.put("device-groups/{deviceGroupId}", params, groupBodyOf(draft));
    else await client.post("device-groups", {}, groupBodyOf(draft));
    say(t("saved"));
    onClose();
  });
  const removeSoon = useRemoval("device-groups/{deviceGroupId}");
  const remove = () => {
    removeSoon({ id: group?.id ?? "", name: group?.name ?? "", params });
    onClose();
  };
  const isTouched = JSON.stringify(draft) !== JSON.stringify(draftOf(group));
  const unsaved = useUnsaved(isTouched && !saving.isPending);
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        saving.mutate();
      }}
    >
      <TextInput
        label={t("field.name")}
        data-autofocus={group === null || undefined}
        required
        maxLength={140}
        value={draft.name}
        error={fieldFault(saving.error, "name", words)}
        onChange={(event) => change({ name: event.currentTarget.value })}
      />
      <MemberCount draft={draft} />
      <Rule draft={draft} onChange={change} />
      <Textarea
        label={t("field.additionIds")}
        description={t("groups.ids-hint")}
        autosize
        value={draft.additionIds.join("\n")}
        onChange={(event) => change({ additionIds: event.currentTarget.value.split("\n") })}
      />
      <Textarea
        label={t("field.exclusionIds")}
        description={t("groups.ids-hint")}
        autosize
        value={draft.exclusionIds.join("\n")}
        onChange={(event) => change({ exclusionIds: event.currentTarget.value.split("\n") })}
      />
      {unsaved}
      <FaultLine error={saving.error} />
      <div className="savebar">
        <Button type="submit" loading={saving.isPending} disabled={!isComplete(draft) || draft.name.trim() === ""}>
          {t("save")}
        </Button>
        {group?.permissions.includes("delete") && (
          <Button variant="default" c="var(--bad)" ml="auto" onClick={remove}>
            {t("remove")}
          </Button>
        )}
      </div>
    </form>
  );
}

interface RuleProps {
  draft: GroupDraft;
  onChange(part: Partial<GroupDraft>): void;
}

function Rule({ draft, onChange }: RuleProps) {
  const { t, name } = useWords();
  const fault = expressionFault(draft);
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
  const { t, name } = useWords();
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

const PAUSE_MS = 400;

function MemberCount({ draft }: { draft: GroupDraft }) {
  const { t } = useWords();
  const { clock } = useConsole();
  const { name: _, ...rule } = groupBodyOf(draft);
  const wanted = isComplete(draft) ? JSON.stringify(rule) : null;
  const [asked, setAsked] = useState(wanted);
  useEffect(() => {
    const timer = clock.after(PAUSE_MS, () => setAsked(wanted));
    return () => timer.cancel();
  }, [clock, wanted]);
  const members = useRows<DeviceRow>(
    "devices",
    {},
    { deviceGroup: asked ?? "", limit: 5 },
    { enabled: asked !== null },
  );
  return (
    <div className="card" aria-live="polite">
      <p>
        <span className="figure">{asked === null ? "–" : (members.data?.total ?? "–")}</span> {t("groups.members")}
      </p>
      <FaultLine error={members.error} />
      {asked !== null && (
        <p className="soft">
          {members.data?.data.map(({ description }) => description).join(", ")}
          {(members.data?.total ?? 0) > 5 && " …"}
        </p>
      )}
    </div>
  );
}
