import { MultiSelect } from "@mantine/core";
import { useState } from "react";
import type { RouteFor } from "../../api/routes.ts";
import { useRows } from "../../api/use-rows.ts";
import { ErrorLine } from "../error-line.tsx";
import { type NamedRow, nameOf, useSearchRows } from "./search-rows.ts";
import "../input-styles.ts";

interface RowsSelectProps {
  id?: string;
  label: string;
  description?: string | undefined;
  withAsterisk?: boolean;
  error?: string | null;
  placeholder: string;
  route: RouteFor<"get">;
  /** Ids of the rows. */
  value: readonly string[];
  onChange(ids: string[]): void;
}

/** Several rows of a collection of any size, each found by a few letters. */
export function RowsSelect({ route, value, onChange, placeholder, ...shown }: RowsSelectProps) {
  const [text, setText] = useState("");
  const found = useSearchRows(route, text);
  const chosen = useRows<NamedRow>(route, {}, { ids: value, limit: 1_000 }, { enabled: value.length > 0 });
  const known = [...(value.length > 0 ? (chosen.data?.data ?? []) : []), ...found.rows];
  const labels = new Map(known.map((row) => [row.id, nameOf(row)]));
  // Selected rows that are not loaded yet stay in the field.
  for (const id of value) if (!labels.has(id)) labels.set(id, "…");
  return (
    <div>
      <MultiSelect
        {...shown}
        searchable
        clearable
        placeholder={value.length === 0 ? placeholder : ""}
        searchValue={text}
        onSearchChange={setText}
        {...found.field}
        data={[...labels].map(([id, label]) => ({ value: id, label }))}
        value={[...value]}
        onChange={onChange}
      />
      <ErrorLine error={found.error ?? chosen.error} />
    </div>
  );
}
