import { type NotificationProgress, notificationState } from "../api/notification-state.ts";
import { useNow } from "../console-context.tsx";
import { useTranslation } from "../i18n/use-translation.tsx";

const TONES: Readonly<Record<string, string>> = {
  failed: "bad",
  expired: "bad",
  skipped: "warn",
  planned: "",
  sent: "",
  accepted: "",
  playing: "good",
  heard: "good",
  confirmed: "good",
};

const SIGNS: Readonly<Record<string, string>> = { good: "✓", bad: "✕", warn: "!" };

/** Delivery level as colour, icon and text. */
export function LevelChip({ level }: { level: string }) {
  const { name } = useTranslation();
  return <Chip tone={TONES[level] ?? ""}>{name("level", level)}</Chip>;
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
  finished: "good",
  stopped: "warn",
  failed: "bad",
} as const;

/** Current state of a notification. */
export function NotificationStateChip({ row }: { row: NotificationProgress }) {
  const { name } = useTranslation();
  const state = notificationState(row, useNow());
  return <Chip tone={STATE_TONES[state]}>{name("notification-state", state)}</Chip>;
}

/** The mark of a drill; live messages wear none. */
export function DrillChip({ drill }: { drill: boolean }) {
  const { t } = useTranslation();
  return drill ? <span className="chip drill">{t("drill.word")}</span> : null;
}
