import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";
import type { TableSearch } from "./table-search.ts";

/** What the address says of the table on this page, and how to say it anew; an undefined member is taken out. */
export function useTableSearch(): [TableSearch, (part: { [K in keyof TableSearch]: string | undefined }) => void] {
  const search: TableSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  const { q, sort, level, type, open } = search;
  const show = useCallback(
    (part: { [K in keyof TableSearch]: string | undefined }) => {
      const next = Object.entries({ q, sort, level, type, open, ...part }).filter(([, value]) => value);
      void navigate({ to: ".", search: Object.fromEntries(next) as TableSearch, replace: true });
    },
    [navigate, q, sort, level, type, open],
  );
  return [search, show];
}
