import { useQueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { dependentsOf } from "../api/client.ts";
import { ROUTES, type RouteFor, type RouteParams } from "../api/routes.ts";
import { useConsole } from "../console-context.tsx";
import { errorText } from "../i18n/error-text.ts";
import { useTranslation } from "../i18n/use-translation.tsx";

/** Resources whose rows emergencies, inputs or bells may use, directly or as the last of a group or list. */
const MAY_BE_IN_USE: ReadonlySet<string> = new Set([
  ...["areas-of-interest", "collaboration-groups", "confirmation-requests", "device-groups", "devices"],
  ...["distribution-lists", "extensions", "incident-plans", "message-templates", "notification-profiles"],
  ...["ring-lists", "scenarios", "site-recipients", "site-roles", "sites", "subscriptions", "users"],
]);

/**
 * Removal of a row with ten seconds to undo. The appliance is asked first whether it may go: what is in use is removed
 * only after the user has seen the uses.
 */
export function useRemoval(route: RouteFor<"delete">) {
  const { client, removals, notify, confirmDetach } = useConsole();
  const queries = useQueryClient();
  const translator = useTranslation();
  const mayRemove = async (name: string, params: RouteParams): Promise<{ detach: boolean } | null> => {
    if (!MAY_BE_IN_USE.has(ROUTES[route].resource)) return { detach: false };
    try {
      const uses = await client.ordinaryUses(route, params);
      return uses.length === 0 || (await confirmDetach(uses, name)) ? { detach: false } : null;
    } catch (error) {
      const dependents = dependentsOf(error);
      if (dependents) return (await confirmDetach(dependents, name)) ? { detach: true } : null;
      notify(errorText(error, translator));
      return null;
    }
  };
  return async ({ id, name, params }: { id: string; name: string; params: RouteParams }): Promise<void> => {
    const removal = await mayRemove(name, params);
    if (!removal) return;
    const query = removal.detach ? { detach: true } : {};
    removals.plan({
      id,
      async run(leaving) {
        await client.remove(route, params, { leaving, query });
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
