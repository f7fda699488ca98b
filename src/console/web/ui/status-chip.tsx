import { type ReachVerdict, VERDICT_TONES } from "../../../resources/notifications/device-outcomes.ts";
import { messageVerdict, type NotificationProgress, notificationState } from "../api/notification-state.ts";
import { useNow } from "../console-context.tsx";
import { useTranslation } from "../i18n/use-translation.tsx";

const SIGNS: Readonly<Record<string, string>> = { good: "✓", bad: "✕", warn: "!", info: "→", muted: "–" };

/** Result of a message, a room or a bell as colour, icon and text. */
export function VerdictChip({ verdict }: { verdict: ReachVerdict }) {
  const { name } = useTranslation();
  return <Chip tone={VERDICT_TONES[verdict]}>{name("verdict", verdict)}</Chip>;
}

/** Text on a coloured background, with an icon for those who cannot see the colour. */
export function Chip({ tone, children }: { tone: string; children: string }) {
  const sign = SIGNS[tone];
  return (
    <span className={`chip ${tone}`}>
      {sign && <span aria-hidden="true">{sign}</span>}
      {children}
    </span>
  );
}

const STATE_TONES = {
  waiting: "warn",
  ready: "",
  going: "",
  finished: "",
  stopped: "warn",
  failed: "bad",
} as const;

/** Current state of a notification; once it is over, also whom it reached. */
export function NotificationStateChip({ row }: { row: NotificationProgress }) {
  const { name } = useTranslation();
  const state = notificationState(row, useNow());
  const verdict = messageVerdict(row);
  return (
    <>
      <Chip tone={STATE_TONES[state]}>{name("notification-state", state)}</Chip>
      {verdict && <VerdictChip verdict={verdict} />}
    </>
  );
}

/** The mark of a drill; live messages wear none. */
export function DrillChip({ drill }: { drill: boolean }) {
  const { t } = useTranslation();
  return drill ? <span className="chip drill">{t("drill.word")}</span> : null;
}
