import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useConsole } from "../console-context.tsx";
import { bodyWith, conflictsAfter, type FormValues } from "../ui/form/form-fields.ts";
import { isVersionConflict, type VersionedRow } from "./client.ts";
import { useTrackedQuery } from "./page-queries.ts";
import { ROUTES, type RouteFor, type RouteParams } from "./routes.ts";

type Readable = RouteFor<"get">;

function versionedKey(route: Readable, params: RouteParams) {
  return [ROUTES[route].resource, route, params, "versioned"] as const;
}

/** One row for a form, with the version that a change names; kept fresh by the live feed. */
export function useVersionedRow<T>(route: Readable, params: RouteParams, options: { enabled?: boolean } = {}) {
  const { client } = useConsole();
  return useTrackedQuery(
    useQuery({
      queryKey: versionedKey(route, params),
      queryFn: () => client.getVersioned<T>(route, params),
      placeholderData: keepPreviousData,
      ...options,
    }),
  );
}

/** Changes by others that leave alone what is being changed may come between this often. */
const MAX_ATTEMPTS = 4;

/**
 * Changes a row that is as it was `read`. If others have changed other fields of it, the change is made all the same; if
 * they have changed one of the same fields, it is refused (see `isVersionConflict`), and the form gets the row as it is.
 * @source docs/decisions/0621-edit-conflicts.md
 */
export function useVersionedChange() {
  const { client } = useConsole();
  const queries = useQueryClient();
  return async <T>(
    route: RouteFor<"put"> & Readable,
    params: RouteParams,
    changed: FormValues,
    read: VersionedRow<FormValues> | undefined,
  ): Promise<T> => {
    let known = read;
    for (let attempt = 1; ; attempt++) {
      try {
        return await client.put<T>(route, params, bodyWith(changed), {}, known?.version);
      } catch (error) {
        if (!isVersionConflict(error) || !known?.version || attempt === MAX_ATTEMPTS) throw error;
        const { row: before, version } = known;
        known = await client.getVersioned<FormValues>(route, params);
        queries.setQueryData(versionedKey(route, params), known);
        // Refused for another reason, or by a person who must choose.
        if (known.version === version || conflictsAfter(new Map(), changed, before, known.row).size > 0) throw error;
      }
    }
  };
}
