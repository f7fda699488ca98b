import { Button } from "@mantine/core";
import type { UserRow } from "../../api/rows.ts";
import { useRow, useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";

type Lock = { start: string | null; end: string | null } | null;

/** Whether an account is locked, and how to lock it at once or let it in again. */
export function PersonLock({ userId }: { userId: string }) {
  const { t } = useTranslation();
  const { client, clock, notify } = useConsole();
  const row = useRow<UserRow & { lock: Lock }>("users/{userId}", { userId });
  const change = useRowMutation("users", async ({ lock, undo }: { lock: Lock; undo?: Lock }) => {
    await client.put("users/{userId}", { userId }, { lock });
    const text = lock ? t("person.is-locked") : t("person.is-unlocked");
    notify(text, undo === undefined ? undefined : () => change.mutate({ lock: undo }));
  });
  if (row.data?.id !== userId || !row.data.permissions.includes("put")) return null;
  const { lock, isLocked } = row.data;
  const toggle = (): void => {
    const next = isLocked ? null : { start: new Date(clock.now()).toISOString(), end: null };
    change.mutate({ lock: next, undo: lock });
  };
  return (
    <section className="card">
      <div className="row">
        <Chip tone={isLocked ? "bad" : "good"}>{t(isLocked ? "users.locked" : "person.unlocked")}</Chip>
        {isLocked && lock?.end && (
          <span>
            {t("person.locked-until")} <Timestamp at={lock.end} />
          </span>
        )}
        <span className="space" />
        <Button variant="default" size="compact-md" loading={change.isPending} onClick={toggle}>
          {t(isLocked ? "person.unlock" : "person.lock")}
        </Button>
      </div>
      <p className="soft">{t("person.lock-hint")}</p>
      <ErrorLine error={change.error} />
    </section>
  );
}
