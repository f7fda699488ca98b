import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";
import { readTableSearch, type SearchPart, type TableSearch } from "./table-search.ts";

/** What the address says of the list on this page, and how to say it anew. */
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
