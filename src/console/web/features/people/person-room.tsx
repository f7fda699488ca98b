import type { Named, UserRow } from "../../api/rows.ts";
import { useRow, useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { RoomCard } from "../../ui/room-card.tsx";

/** Usual room of a person. */
export function PersonRoom({ userId }: { userId: string }) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const row = useRow<UserRow & { zone?: Named | null }>("users/{userId}", { userId });
  const change = useRowMutation("users", async (zoneId: string | null) => {
    await client.put("users/{userId}", { userId }, { zoneId });
    notify(t("saved"));
  });
  if (row.data?.id !== userId) return null;
  return (
    <RoomCard
      zone={row.data.zone ?? null}
      canChange={row.data.permissions.includes("put")}
      isSaving={change.isPending}
      error={change.error}
      onChange={(zoneId) => change.mutate(zoneId)}
    />
  );
}
