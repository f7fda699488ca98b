import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { NotificationRow, SessionRow } from "../api/rows.ts";
import { useAwaitingApproval, useRow, useRowMutation } from "../api/use-rows.ts";
import { useConsole, useNow } from "../console-context.tsx";
import { errorText } from "../i18n/error-text.ts";
import { elapsedText } from "../i18n/format.ts";
import { useTranslation } from "../i18n/use-translation.tsx";
import { HoldButton } from "../ui/hold-button.tsx";

/** Notifications that wait for approval, above every page. */
export function ApprovalStrips() {
  const waiting = useAwaitingApproval();
  const session = useRow<SessionRow>("session").data;
  const { t } = useTranslation();
  return (
    <section aria-live="assertive" aria-label={t("approval.title")}>
      {waiting.map((row) => (
        <ApprovalStrip key={row.id} row={row} isOwn={row.initiatorId === session?.userId} />
      ))}
    </section>
  );
}

function ApprovalStrip({ row, isOwn }: { row: NotificationRow; isOwn: boolean }) {
  const translator = useTranslation();
  const { t } = translator;
  const { client, notify } = useConsole();
  const now = useNow();
  const subject = translator.say(row.subject ?? "", row.subjectSentence);
  const deciding = useRowMutation("notifications", (decision: "approve" | "refuse") =>
    client.post("notifications/{notificationId}/approval", { notificationId: row.id }, { decision }),
  );
  const decide = (decision: "approve" | "refuse") =>
    deciding.mutate(decision, {
      onSuccess: () => notify(t(decision === "approve" ? "approval.sent" : "approval.not-sent", { subject })),
      onError: (error) => notify(errorText(error, translator)),
    });
  const left = elapsedText(Math.max(0, Date.parse(row.expiresAt ?? "") - now));
  return (
    <div className="strip waiting">
      <span className="chip bad">{t("live.word")}</span>
      <Link to="/broadcasts/$notificationId" params={{ notificationId: row.id }}>
        <strong>{subject}</strong>
      </Link>
      <span>{isOwn ? t("approval.own") : t("approval.by", { name: row.initiator?.name ?? "?" })}</span>
      <span className="space" />
      <span aria-hidden="true">{left}</span>
      {!isOwn && (
        <HoldButton className="approve" disabled={deciding.isPending} onHeld={() => decide("approve")}>
          <strong>{t("approval.approve")}</strong>
        </HoldButton>
      )}
      <Button variant="default" size="compact-md" disabled={deciding.isPending} onClick={() => decide("refuse")}>
        {isOwn ? t("approval.take-back") : t("approval.refuse")}
      </Button>
    </div>
  );
}
