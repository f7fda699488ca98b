import { Button } from "@mantine/core";
import type { RouteFor, RouteParams } from "../api/routes.ts";
import { useTranslation } from "../i18n/use-translation.tsx";
import { usePendingRemovalIds, useRemoval } from "./use-removal.ts";

interface RemoveButtonProps {
  route: RouteFor<"delete">;
  params: RouteParams;
  id: string;
  /** What people call it, as it is said while it can be taken back. */
  name: string;
  /** Another word for it, such as the one for a token. */
  label?: string;
}

/** Removes the row of a sheet; can be undone for ten seconds. */
export function RemoveButton({ route, params, id, name, label }: RemoveButtonProps) {
  const { t } = useTranslation();
  const removeSoon = useRemoval(route);
  const isLeaving = usePendingRemovalIds().has(id);
  return (
    <Button
      variant="default"
      c="var(--bad)"
      ml="auto"
      disabled={isLeaving}
      aria-label={t("remove.named", { word: label ?? t("remove"), name })}
      onClick={() => void removeSoon({ id, name, params })}
    >
      {label ?? t("remove")}
    </Button>
  );
}
