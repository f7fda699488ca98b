import { Select } from "@mantine/core";
import { useState } from "react";
import type { RouteFor, RouteParams, RouteQuery } from "../../api/routes.ts";
import { useRows } from "../../api/use-rows.ts";
import { ErrorLine } from "../error-line.tsx";
import { type NamedRow, nameOf, useSearchRows } from "./search-rows.ts";
import "../input-styles.ts";

interface RowSelectProps {
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
export function RowSelect({
  route,
  params = {},
  query = {},
  value,
  onChange,
  without,
  disabled = false,
  ...shown
}: RowSelectProps) {
  const [text, setText] = useState("");
  const [searched, setSearched] = useState("");
  const found = useSearchRows(route, searched, params, query, { enabled: !disabled });
  const chosen = useRows<NamedRow>(route, params, { ids: [value ?? ""] }, { enabled: value !== null && !disabled });
  const rows = new Map(
    [...(value === null ? [] : (chosen.data?.data ?? [])), ...found.rows].map((row) => [row.id, row]),
  );
  const current = value === null ? undefined : rows.get(value);
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
          // The field also shows the name of the selected row, which is not a search.
          setSearched(current && nameOf(current) === next ? "" : next);
        }}
        {...found.field}
        data={[...rows.values()]
          .filter(({ id }) => !without?.has(id))
          .map((row) => ({ value: row.id, label: nameOf(row) }))}
        value={value}
        onChange={onChange}
      />
      <ErrorLine error={found.error ?? chosen.error} />
    </div>
  );
}
