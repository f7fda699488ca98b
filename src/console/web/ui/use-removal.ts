import { useQueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { ROUTES, type RouteFor, type RouteParams } from "../api/routes.ts";
import { useConsole } from "../console-context.tsx";
import { errorText } from "../i18n/error-text.ts";
import { useTranslation } from "../i18n/use-translation.tsx";

/** A row that is removed unless somebody takes it back within ten seconds. */
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

/** Ids of rows that are not to be shown, since they are on their way out. */
export function usePendingRemovalIds(): ReadonlySet<string> {
  const { removals } = useConsole();
  return useSyncExternalStore(removals.onChange, removals.gone);
}
