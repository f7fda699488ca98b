import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { DryRunResult } from "../../api/bell-rows.ts";
import type { RouteQuery } from "../../api/routes.ts";
import { useConsole } from "../../console-context.tsx";

const PAUSE_MS = 400;

/** The query of a rehearsal. */
export const DRY_RUN = { dryRun: true } as const;

/**
 * Changes that a write would make, by a debounced dry run. `body` is the write, null for none; `ask` sends it with
 * `DRY_RUN`.
 */
export function useDryRunDiff<T extends object>(body: object | null, ask: (body: never) => Promise<T>) {
  const { clock } = useConsole();
  const wanted = body === null ? null : JSON.stringify(body);
  const [asked, setAsked] = useState(wanted);
  useEffect(() => {
    const timer = clock.after(PAUSE_MS, () => setAsked(wanted));
    return () => timer.cancel();
  }, [clock, wanted]);
  const found = useQuery({
    queryKey: ["difference", asked],
    queryFn: () => ask(JSON.parse(asked ?? "{}") as never),
    enabled: asked !== null && wanted !== null,
    placeholderData: keepPreviousData,
    retry: false,
    staleTime: 0,
    gcTime: 0,
  });
  const isThere = wanted !== null && asked !== null;
  // The result of another day is not shown for this one.
  const isOfThis = asked === wanted && !found.isPlaceholderData;
  return {
    answer: isThere && isOfThis && !found.error ? (found.data ?? null) : null,
    error: isThere && asked === wanted ? found.error : null,
    isPending: isThere && (found.isFetching || asked !== wanted),
  };
}

/**
 * Like `useDryRunDiff`, for a form: null until the body differs from its initial value. The result is shown by
 * `RingDiff`.
 */
export function useRingDiff(body: object | null, ask: (body: object, query: RouteQuery) => Promise<DryRunResult>) {
  const text = JSON.stringify(body);
  const [first] = useState(text);
  const isOther = body !== null && text !== first;
  const { answer, error, isPending } = useDryRunDiff(isOther ? body : null, (asked: object) => ask(asked, DRY_RUN));
  return isOther ? { difference: answer?.ringDiff, error, isPending } : null;
}
