import { useQueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { ROUTES, type RouteFor, type RouteParams } from "../api/routes.ts";
import { useConsole } from "../console-context.tsx";
import { errorText } from "../i18n/error-text.ts";
import { useTranslation } from "../i18n/use-translation.tsx";

/** Removal of a row with ten seconds to undo. */
export function useRemoval(route: RouteFor<"delete">) {
  const { client, removals, notify } = useConsole();
  const queries = useQueryClient();
  const translator = useTranslation();
  return ({ id, name, params }: { id: string; name: string; params: RouteParams }): void => {
    removals.plan({
      id,
      async run(leaving) {
        await client.remove(route, params, leaving);
        await queries.invalidateQueries({ queryKey: [ROUTES[route].resource] });
      },
      onFault: (error) => notify(errorText(error, translator)),
    });
    notify(translator.t("removed.soon", { name }), () => removals.undo(id));
  };
}

/** Ids of rows that are hidden because their removal is pending. */
export function usePendingRemovalIds(): ReadonlySet<string> {
  const { removals } = useConsole();
  return useSyncExternalStore(removals.onChange, removals.gone);
}
