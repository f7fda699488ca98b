import { keepPreviousData, useQueries } from "@tanstack/react-query";
import { addDays } from "../../../../bells/date-span.ts";
import type { BellScheduleRow, RingListRow, RingRow } from "../../api/bell-rows.ts";
import type { RowPage } from "../../api/client.ts";
import { ROUTES } from "../../api/routes.ts";
import type { TemplateRow } from "../../api/rows.ts";
import { useRows } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTableSearch } from "../../ui/list/use-table-search.ts";
import type { ScheduleRing } from "./week-layout.ts";

/** Maximum number of schedules in the calendar; more would be unreadable. */
export const MAX_VISIBLE_SCHEDULES = 20;
const MAX_ROWS = 1_000;
/** The rings of today change their states by themselves, of which the live feed tells nothing. */
const POLL_INTERVAL_MS = 10_000;

/** Ids of the schedules that the address names; all when empty. */
export function useSelectedScheduleIds(): [readonly string[], (ids: readonly string[]) => void] {
  const [{ schedules }, show] = useTableSearch();
  const ids = schedules ? schedules.split(" ") : [];
  return [ids, (chosen) => show({ schedules: chosen.join(" ") || undefined })];
}

/** The schedules that are drawn: the chosen ones, else the first by name; `total` is how many there are to draw. */
export function useVisibleSchedules() {
  const [ids] = useSelectedScheduleIds();
  const query = { sort: "name", limit: MAX_VISIBLE_SCHEDULES, ...(ids.length > 0 ? { ids } : {}) };
  const found = useRows<BellScheduleRow>("bell-schedules", {}, query);
  return { schedules: found.data?.data ?? [], total: found.data?.total ?? 0, ...found };
}

/** The rings of schedules from a day to another, both included, as the schedules' own calendars have them. */
export function useRings(schedules: readonly BellScheduleRow[], first: string, last: string) {
  const { client } = useConsole();
  // A day is up to 14 hours away from its date in UTC.
  const query = { from: addDays(first, -1), to: addDays(last, 2), limit: MAX_ROWS, includeTotal: false };
  const route = "bell-schedules/{bellScheduleId}/rings";
  return useQueries({
    queries: schedules.map(({ id: bellScheduleId }) => ({
      queryKey: [ROUTES[route].resource, route, { bellScheduleId }, query],
      queryFn: () => client.get<RowPage<RingRow>>(route, { bellScheduleId }, query),
      placeholderData: keepPreviousData,
      refetchInterval: POLL_INTERVAL_MS,
    })),
    combine: (answers) => ({
      error: answers.find(({ error }) => error)?.error ?? null,
      isLoading: answers.some(({ isLoading }) => isLoading),
      isPartial: answers.some(({ data }) => data?.next),
      rings: answers.flatMap(({ data }, at): ScheduleRing[] => {
        const bellScheduleId = schedules[at]?.id ?? "";
        const within = data?.data.filter(({ localDate }) => first <= localDate && localDate <= last) ?? [];
        return within.map((ring) => ({ ...ring, bellScheduleId }));
      }),
    }),
  });
}

/** Names of messages by their ids, as far as they may be seen. */
export function useTemplateNames(ids: readonly (string | null)[]): ReadonlyMap<string, string> {
  const wanted = [...new Set(ids)].filter((id) => id !== null).sort();
  const found = useRows<TemplateRow>(
    "message-templates",
    {},
    { ids: wanted, limit: MAX_ROWS },
    { enabled: wanted.length > 0 },
  );
  return new Map(found.data?.data.map((row) => [row.id, row.name ?? row.subject ?? ""]) ?? []);
}

/** Names of schedules by their ids. */
export function useScheduleNames(ids: readonly string[]): ReadonlyMap<string, string> {
  const wanted = [...new Set(ids)].sort();
  const found = useRows<BellScheduleRow>(
    "bell-schedules",
    {},
    { ids: wanted, limit: MAX_ROWS },
    { enabled: wanted.length > 0 },
  );
  return new Map(found.data?.data.map((row) => [row.id, row.name]) ?? []);
}

/** All ring lists by name, as far as one page holds them. */
export function useRingLists() {
  return useRows<RingListRow>("ring-lists", {}, { sort: "name", limit: MAX_ROWS });
}
