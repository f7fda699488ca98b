import { useNavigate, useRouter, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";
import { readTableSearch, type SearchPart, type TableSearch } from "./table-search.ts";

declare module "@tanstack/react-router" {
  interface HistoryState {
    /** The entry was made when something opened over the page: going back closes it. */
    opened?: string;
  }
}

/**
 * The list state in the address, and a setter. What opens over the page is an entry in the browser's history, which Back
 * closes; everything else replaces the current one.
 */
export function useTableSearch(): [TableSearch, (part: SearchPart) => void] {
  const search: TableSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  const { history } = useRouter();
  const { open } = search;
  const show = useCallback(
    (part: SearchPart) => {
      const isOpening = open === undefined && part.open !== undefined;
      const isClosing = open !== undefined && "open" in part && part.open === undefined;
      if (isClosing && history.location.state.opened) {
        history.back();
        return;
      }
      void navigate({
        to: ".",
        search: (old: TableSearch) => readTableSearch({ ...old, ...part }),
        state: (old) => ({ ...old, ...(isOpening ? { opened: "row" } : {}) }),
        replace: !isOpening,
      });
    },
    [navigate, history, open],
  );
  return [search, show];
}
