import { Select } from "@mantine/core";
import { useState } from "react";
import type { RouteFor, RouteParams, RouteQuery } from "../api/routes.ts";
import type { Named, Row } from "../api/rows.ts";
import { useRows } from "../api/use-rows.ts";
import { FaultLine } from "./fault-line.tsx";
import "./input-styles.ts";

/** A row of any collection. */
export type AnyNamed = Row & Partial<Named> & { subject?: string | null; description?: string | null };

/** What people call a row of any collection. */
export function nameOf(row: AnyNamed): string {
  return row.name ?? row.subject ?? row.description ?? row.id;
}

interface RowChoiceProps {
  id?: string;
  label: string;
  description?: string | undefined;
  withAsterisk?: boolean;
  error?: string | null;
  disabled?: boolean;
  /** Rows that can't be chosen. */
  without?: ReadonlySet<string>;
  placeholder: string;
  route: RouteFor<"get">;
  params?: RouteParams;
  /** Which of them can be chosen; all unless given. */
  query?: RouteQuery;
  value: string | null;
  onChange(id: string | null): void;
}

/** One row of a collection of any size, found by a few letters. */
export function RowChoice({
  route,
  params = {},
  query = {},
  value,
  onChange,
  without,
  disabled = false,
  ...shown
}: RowChoiceProps) {
  const [text, setText] = useState("");
  const [searched, setSearched] = useState("");
  const found = useRows<AnyNamed>(
    route,
    params,
    { limit: 50, ...query, ...(searched ? { q: searched } : {}) },
    { enabled: !disabled },
  );
  const chosen = useRows<AnyNamed>(route, params, { ids: [value ?? ""] }, { enabled: value !== null && !disabled });
  const rows = new Map(
    [...(value === null ? [] : (chosen.data?.data ?? [])), ...(found.data?.data ?? [])].map((row) => [row.id, row]),
  );
  return (
    <div>
      <Select
        {...shown}
        disabled={disabled}
        searchable
        clearable
        searchValue={text}
        onSearchChange={(next) => {
          setText(next);
          // What was chosen stands in the field too, and is no search.
          setSearched([...rows.values()].some((row) => nameOf(row) === next) ? "" : next);
        }}
        filter={({ options }) => options}
        data={[...rows.values()]
          .filter(({ id }) => !without?.has(id))
          .map((row) => ({ value: row.id, label: nameOf(row) }))}
        value={value}
        onChange={onChange}
      />
      <FaultLine error={found.error ?? chosen.error} />
    </div>
  );
}
