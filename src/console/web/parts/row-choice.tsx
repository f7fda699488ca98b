import { Select } from "@mantine/core";
import { useState } from "react";
import type { RouteFor } from "../api/routes.ts";
import type { Named, Row } from "../api/rows.ts";
import { useRows } from "../api/use-rows.ts";
import { FaultLine } from "./fault-line.tsx";
import "./input-styles.ts";

type AnyNamed = Row & Partial<Named> & { subject?: string | null; description?: string | null };

interface RowChoiceProps {
  label: string;
  /** Rows that can't be chosen. */
  without?: ReadonlySet<string>;
  placeholder: string;
  route: RouteFor<"get">;
  value: string | null;
  onChange(id: string | null): void;
}

/** One row of a collection of any size, found by a few letters. */
export function RowChoice({ label, placeholder, route, value, onChange, without }: RowChoiceProps) {
  const [text, setText] = useState("");
  const [searched, setSearched] = useState("");
  const found = useRows<AnyNamed>(route, {}, { limit: 50, ...(searched ? { q: searched } : {}) });
  const chosen = useRows<AnyNamed>(route, {}, { ids: [value ?? ""] }, { enabled: value !== null });
  const rows = new Map(
    [...(value === null ? [] : (chosen.data?.data ?? [])), ...(found.data?.data ?? [])].map((row) => [row.id, row]),
  );
  const wordOf = (row: AnyNamed) => row.name ?? row.subject ?? row.description ?? row.id;
  return (
    <div>
      <Select
        label={label}
        placeholder={placeholder}
        searchable
        clearable
        searchValue={text}
        onSearchChange={(next) => {
          setText(next);
          // What was chosen stands in the field too, and is no search.
          setSearched([...rows.values()].some((row) => wordOf(row) === next) ? "" : next);
        }}
        filter={({ options }) => options}
        data={[...rows.values()]
          .filter(({ id }) => !without?.has(id))
          .map((row) => ({ value: row.id, label: wordOf(row) }))}
        value={value}
        onChange={onChange}
      />
      <FaultLine error={found.error ?? chosen.error} />
    </div>
  );
}
