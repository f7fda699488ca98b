import type { OptionsFilter } from "@mantine/core";
import type { RouteFor, RouteParams, RouteQuery } from "../../api/routes.ts";
import type { Named, Row } from "../../api/rows.ts";
import { useRows } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";

/** A row of any collection. */
export type NamedRow = Row & Partial<Named> & { subject?: string | null; description?: string | null };

/** What people call a row of any collection. */
export function nameOf(row: NamedRow): string {
  return row.name ?? row.subject ?? row.description ?? row.id;
}

interface SearchRows {
  /** At most 50; of the letters before, until the appliance has answered. */
  rows: readonly NamedRow[];
  error: unknown;
  /** For the field: which options can be chosen now, and what stands below it while none can. */
  field: { filter: OptionsFilter; nothingFoundMessage: string };
}

/**
 * Rows of a collection that match a search text, for a select field. Nothing can be chosen until the results arrive,
 * so that an early Enter does not take a stale result.
 */
export function useSearchRows(
  route: RouteFor<"get">,
  letters: string,
  params: RouteParams = {},
  query: RouteQuery = {},
  options: { enabled?: boolean } = {},
): SearchRows {
  const { t } = useTranslation();
  const found = useRows<NamedRow>(route, params, { limit: 50, ...query, ...(letters ? { q: letters } : {}) }, options);
  const rows = found.data?.data ?? [];
  const isAnswer = found.data !== undefined && !found.isPlaceholderData;
  const ids = new Set(isAnswer ? rows.map(({ id }) => id) : []);
  return {
    rows,
    error: found.error,
    field: {
      filter: ({ options }) =>
        options.filter((option) => "value" in option && (ids.has(option.value) || (isAnswer && letters === ""))),
      nothingFoundMessage: t(isAnswer || found.error ? "search.none" : "search.looking"),
    },
  };
}
