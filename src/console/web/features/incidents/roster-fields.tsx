import { Textarea, TextInput } from "@mantine/core";
import type { IncidentPlanRow } from "../../api/scenario-rows.ts";
import { fieldErrorText } from "../../i18n/error-text.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import type { CustomFieldProps } from "../../ui/form/form-fields.ts";
import { RowsSelect } from "../../ui/form/rows-select.tsx";
import "../../ui/input-styles.ts";

type Rostering = Partial<NonNullable<IncidentPlanRow["rostering"]>>;

const wholeLines = (lines: readonly string[]): string[] => lines.map((each) => each.trim()).filter(Boolean);

/** Roster settings of a plan; without statuses it has no roster. */
export function RosterFields({ values, change, error }: CustomFieldProps) {
  const translator = useTranslation();
  const { t } = translator;
  const rostering = (values.rostering ?? {}) as Rostering;
  const put = (part: Rostering): void => {
    const next = { ...rostering, ...part };
    const isEmpty = Object.values(next).every((value) => value === null || value.length === 0);
    change({ rostering: isEmpty ? null : next });
  };
  const lines = (name: "statuses" | "locations") => ({
    label: t(`roster.${name}`),
    description: t(`roster.${name}-hint`),
    autosize: true,
    minRows: 2,
    value: (rostering[name] ?? []).join("\n"),
    error: fieldErrorText(error, `rostering.${name}`, translator),
    onChange: (event: { currentTarget: { value: string } }) =>
      put({ [name]: event.currentTarget.value === "" ? [] : event.currentTarget.value.split("\n") }),
    onBlur: () => put({ [name]: wholeLines(rostering[name] ?? []) }),
  });
  const roles = (name: "rosterMemberSiteRoleIds" | "rosterManagerSiteRoleIds") => ({
    label: t(`roster.${name}`),
    description: t(`roster.${name}-hint`),
    placeholder: t("form.choose"),
    route: "site-roles" as const,
    value: rostering[name] ?? [],
    error: fieldErrorText(error, `rostering.${name}`, translator),
    onChange: (ids: string[]) => put({ [name]: ids }),
  });
  return (
    <>
      <Textarea {...lines("statuses")} />
      <Textarea {...lines("locations")} />
      <RowsSelect {...roles("rosterMemberSiteRoleIds")} />
      <RowsSelect {...roles("rosterManagerSiteRoleIds")} />
      <TextInput
        label={t("roster.type")}
        description={t("roster.type-hint")}
        maxLength={140}
        value={rostering.type ?? ""}
        onChange={(event) => put({ type: event.currentTarget.value || null })}
      />
    </>
  );
}
