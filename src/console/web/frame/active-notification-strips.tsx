import { activeDurationMs } from "../api/notification-state.ts";
import { useActiveNotifications } from "../api/use-rows.ts";
import { useConsole, useNow } from "../console-context.tsx";
import { elapsedText } from "../i18n/format.ts";
import { useTranslation } from "../i18n/use-translation.tsx";
import { DrillChip } from "../ui/status-chip.tsx";
import { StopButton } from "../ui/stop-button.tsx";
import { SubjectText } from "../ui/subject-text.tsx";
import { ApprovalStrips } from "./approval-strips.tsx";

/** Whether the screen is live, what waits for a second person, and what sounds: above every page. */
export function ActiveNotificationStrips() {
  const { feed } = useConsole();
  return (
    <div className="sound">
      {!feed.live && <DisconnectedStrip since={feed.since} />}
      <ApprovalStrips />
      <ActiveStrips />
    </div>
  );
}

function DisconnectedStrip({ since }: { since: number }) {
  const now = useNow();
  const { t } = useTranslation();
  return (
    <div className="strip cut" role="alert">
      {t("feed.cut", { elapsed: elapsedText(now - since) })}
    </div>
  );
}

function ActiveStrips() {
  const sounding = useActiveNotifications();
  const now = useNow();
  const { t } = useTranslation();
  return (
    <section aria-live="polite" aria-label={t("active-notifications.title")}>
      {sounding.map((row) => (
        <div key={row.id} className={row.drill ? "strip sounding drill" : "strip sounding"}>
          <DrillChip drill={row.drill} />
          <strong>
            <SubjectText row={row} />
          </strong>
          {row.initiationSourceType === "live-page" && (
            <span>{t("live-page.by", { name: row.initiator?.name ?? "?" })}</span>
          )}
          <span className="wide">{row.deviceGroups.map(({ name }) => name).join(", ")}</span>
          <span className="space" />
          <span aria-hidden="true">{elapsedText(activeDurationMs(row, now))}</span>
          <StopButton row={row} />
        </div>
      ))}
    </section>
  );
}
