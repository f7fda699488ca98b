import { Button } from "@mantine/core";
import { ROUTES, type RouteFor, type RouteParams } from "../api/routes.ts";
import type { Named } from "../api/rows.ts";
import { useRowMutation } from "../api/use-rows.ts";
import { useConsole } from "../console-context.tsx";
import { useTranslation } from "../i18n/use-translation.tsx";
import { ErrorLine } from "./error-line.tsx";

interface CloneButtonProps {
  route: Extract<RouteFor<"post">, `${string}/clone`>;
  params: RouteParams;
}

/** Copies a row and reports the name of the copy. */
export function CloneButton({ route, params }: CloneButtonProps) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const copy = useRowMutation<void, void>(ROUTES[route].resource, async () => {
    const made = await client.post<Named>(route, params, {});
    notify(t("profiles.copied", { name: made.name }));
  });
  return (
    <div className="stack">
      <div>
        <Button variant="default" loading={copy.isPending} onClick={() => copy.mutate()}>
          {t("profiles.copy")}
        </Button>
      </div>
      <ErrorLine error={copy.error} />
    </div>
  );
}
