import { Button } from "@mantine/core";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { activeDurationMs, notificationState } from "../../api/notification-state.ts";
import type { NotificationRow, TemplateRow } from "../../api/rows.ts";
import { useRow, useRowMutation, useRows } from "../../api/use-rows.ts";
import { useConsole, useNow } from "../../console-context.tsx";
import { errorText, isSentAlready } from "../../i18n/error-text.ts";
import { elapsedText } from "../../i18n/format.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { HoldButton } from "../../ui/hold-button.tsx";
import { Chip, DrillChip } from "../../ui/status-chip.tsx";
import { StopButton } from "../../ui/stop-button.tsx";
import { SubjectText } from "../../ui/subject-text.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import { useMissedAudio } from "./use-missed-audio.ts";
import { useSend } from "./use-send.ts";

/** Actions on a notification: stop, resend to missed recipients, send the all-clear. */
export function NotificationActions({ row }: { row: NotificationRow }) {
  const { t } = useTranslation();
  const now = useNow();
  const state = notificationState(row, now);
  return (
    <>
      {(state === "going" || state === "ready" || row.catchingUp) && (
        <>
          {state === "going" && <span>{elapsedText(activeDurationMs(row, now))}</span>}
          {row.catchingUp && <Chip tone="warn">{t("notification.catching-up")}</Chip>}
          <StopButton row={row} />
        </>
      )}
      <RetryButton row={row} />
      {!row.alertTone?.startsWith("all-clear") && <AllClearButton row={row} />}
    </>
  );
}

/**
 * Offered where the appliance would not refuse it. Once pressed it stays in its place until that try is over: what took its
 * place would get the second half of a double click.
 */
function RetryButton({ row }: { row: NotificationRow }) {
  const translator = useTranslation();
  const { client, notify } = useConsole();
  const now = useNow();
  const { notReached, skipped } = row.progress.outcomes;
  const { asked, joined, partly } = useMissedAudio(row);
  // Skipped devices are contacted again, too: the cause may be over.
  const unreached = notReached + skipped + asked + joined + partly;
  const retrying = useRowMutation<void, NotificationRow>("notifications", () =>
    client.post("notifications/{notificationId}/retry", { notificationId: row.id }, {}),
  );
  const tries = row.progress.broadcastFinishedCount;
  const [pressedAt, setPressedAt] = useState<number | null>(null);
  const isPressed = pressedAt === tries;
  const isOver = row.abortedAt !== null || (row.expiresAt !== null && Date.parse(row.expiresAt) <= now);
  const isOffered = unreached > 0 && !isOver && row.progress.percentComplete === 100;
  if (!isOffered && !isPressed) return null;
  const go = () => {
    setPressedAt(tries);
    retrying.mutate(undefined, {
      onSuccess: () => notify(translator.t("retry.done", { count: unreached })),
      onError(error) {
        setPressedAt(null);
        notify(errorText(error, translator));
      },
    });
  };
  return (
    <Button
      size="compact-md"
      color={row.drill ? "yellow" : "indigo"}
      {...(row.drill ? { className: "drill" } : {})}
      loading={isPressed}
      onClick={go}
    >
      {translator.t("retry.go", { count: unreached })}
    </Button>
  );
}

/**
 * No form: people who wait in a dark room must not wait for one. It sends the text prepared with the message. For a live
 * message the button is held like the send button, since a slip must not end a lockdown; for a drill one tap suffices. If
 * the all-clear was already sent, the button says so first; the next press sends it again.
 */
function AllClearButton({ row }: { row: NotificationRow }) {
  const translator = useTranslation();
  const { notify } = useConsole();
  const navigate = useNavigate();
  const sending = useSend(row.id);
  const again = isSentAlready(sending.error);
  const label = translator.t(again ? "all-clear.once-more" : "all-clear.go");
  const prepared = {
    subject: row.allClearSubject || translator.t("all-clear.subject", { subject: row.subject ?? "" }).slice(0, 255),
    body: row.allClearBody || translator.t("all-clear.body"),
    ...(again && { again }),
  };
  const go = () =>
    sending.send(
      prepared,
      ({ id }) => void navigate({ to: "/broadcasts/$notificationId", params: { notificationId: id } }),
      "notifications/{notificationId}/all-clear",
      { notificationId: row.id },
      (error) => notify(errorText(error, translator)),
    );
  if (!row.drill) {
    return (
      <HoldButton className="all-clear" disabled={sending.isPending} onHeld={go}>
        <strong>{label}</strong>
        {row.allClearSubject && <span>{row.allClearSubject}</span>}
      </HoldButton>
    );
  }
  return (
    <Button size="compact-md" color="yellow" className="drill" loading={sending.isPending} onClick={go}>
      {`${label} · ${translator.t("drill.word")}`}
    </Button>
  );
}

/** What this message continues, what continued it, and what could be sent next. */
export function FollowUpMessages({ row }: { row: NotificationRow }) {
  const { t } = useTranslation();
  const before = useRow<NotificationRow>(
    "notifications/{notificationId}",
    { notificationId: row.parentNotificationId ?? "" },
    {},
    { enabled: row.parentNotificationId !== null },
  );
  const after = useRows<NotificationRow>(
    "notifications",
    {},
    { parentNotificationId: row.id, draft: false, sort: "createdAt", limit: 20 },
  );
  const offers = useRows<TemplateRow>("message-templates", {}, { followUp: true, sort: "name", limit: 100 });
  const parent = row.parentNotificationId === null ? undefined : before.data;
  const children = after.data?.data ?? [];
  const templates = offers.data?.data ?? [];
  if (!parent && children.length === 0 && templates.length === 0) return null;
  return (
    <section className="card">
      <h2>{t("follow.title")}</h2>
      {parent && <Linked head={t("follow.before")} rows={[parent]} />}
      {children.length > 0 && <Linked head={t("follow.after")} rows={children} />}
      {templates.length > 0 && (
        <div className="row">
          <span className="soft">{t("follow.offer")}</span>
          {templates.map(({ id, name }) => (
            <Link key={id} to="/send" search={{ open: id, follow: row.id }}>
              {name}
            </Link>
          ))}
        </div>
      )}
    </section>
  );
}

function Linked({ head, rows }: { head: string; rows: readonly NotificationRow[] }) {
  return (
    <ul className="plain">
      {rows.map((row) => (
        <li key={row.id} className="row">
          <span className="soft">{head}</span>
          <DrillChip drill={row.drill} />
          <Link to="/broadcasts/$notificationId" params={{ notificationId: row.id }}>
            <SubjectText row={row} />
          </Link>
          <span className="soft">
            <Timestamp at={row.createdAt} />
          </span>
        </li>
      ))}
    </ul>
  );
}
