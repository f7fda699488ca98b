import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";
import { readTableSearch, type SearchPart, type TableSearch } from "./table-search.ts";

/** The list state in the address, and a setter. */
export function useTableSearch(): [TableSearch, (part: SearchPart) => void] {
  const search: TableSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  const show = useCallback(
    (part: SearchPart) =>
      void navigate({ to: ".", search: (old: TableSearch) => readTableSearch({ ...old, ...part }), replace: true }),
    [navigate],
  );
  return [search, show];
}
