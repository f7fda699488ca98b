import { levelSummary } from "../api/notification-state.ts";
import { useTranslation } from "../i18n/use-translation.tsx";

/** Reached devices of a notification, as a bar with text. */
export function ReachBar({ devices }: { devices: Readonly<Record<string, number>> }) {
  const { t } = useTranslation();
  const { reached, missed, passedOver, total } = levelSummary(devices);
  const share = (n: number) => ({ width: `${total === 0 ? 0 : (100 * n) / total}%` });
  return (
    <div>
      <div className="bar" aria-hidden="true">
        <span className="good" style={share(reached)} />
        <span className="bad" style={share(missed)} />
        <span className="warn" style={share(passedOver)} />
      </div>
      <span className="soft">
        {total === 0 ? t("reach.none-yet") : t("reach.of", { reached, total })}
        {missed > 0 && ` · ${t("reach.missed", { count: missed })}`}
        {passedOver > 0 && ` · ${t("reach.passed-over", { count: passedOver })}`}
      </span>
    </div>
  );
}
