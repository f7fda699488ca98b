import { Link } from "@tanstack/react-router";
import type { RowPage } from "../../api/client.ts";
import type { DeviceRow } from "../../api/rows.ts";
import { useRows } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { DISPLAYED_DEVICE_STATES, type DisplayedDeviceState } from "./device-state.tsx";
import "./device-states.css";

/** How many devices stand in each state; null until all are known. */
function useStateCounts(): Readonly<Record<DisplayedDeviceState, number>> | null {
  const count = (state: string) => ({ state, defunct: false, limit: 1 });
  const answers: Record<DisplayedDeviceState, RowPage<DeviceRow> | undefined> = {
    answering: useRows<DeviceRow>("devices", {}, count("answering")).data,
    sent: useRows<DeviceRow>("devices", {}, count("sent")).data,
    silent: useRows<DeviceRow>("devices", {}, count("silent")).data,
    untried: useRows<DeviceRow>("devices", {}, count("")).data,
  };
  if (DISPLAYED_DEVICE_STATES.some((state) => !answers[state])) return null;
  return Object.fromEntries(DISPLAYED_DEVICE_STATES.map((state) => [state, answers[state]?.total ?? 0])) as never;
}

/** Devices by state, as a donut chart and as a table with links. */
export function DeviceStates() {
  const { t, name, language } = useTranslation();
  const counts = useStateCounts();
  const total = counts ? DISPLAYED_DEVICE_STATES.reduce((sum, state) => sum + counts[state], 0) : 0;
  const share = new Intl.NumberFormat(language, { style: "percent", maximumFractionDigits: 1 });
  return (
    <div className="states">
      <Ring counts={counts} total={total} />
      <table className="states-table">
        <caption>{t("devices.states")}</caption>
        <thead>
          <tr>
            <th scope="col">{t("devices.state-head")}</th>
            <th scope="col">{t("devices.count-head")}</th>
            <th scope="col">{t("devices.share-head")}</th>
          </tr>
        </thead>
        <tbody>
          {DISPLAYED_DEVICE_STATES.map((state) => (
            <tr key={state}>
              <th scope="row">
                <span className={`swatch ${state}`} aria-hidden="true" />
                <Link to="/devices" search={{ state }}>
                  {name("device-state", state)}
                </Link>
              </th>
              <td>{counts ? counts[state].toLocaleString(language) : "–"}</td>
              <td>{counts && total > 0 ? share.format(counts[state] / total) : "–"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const GAP = 0.8;

function Ring({ counts, total }: { counts: Readonly<Record<DisplayedDeviceState, number>> | null; total: number }) {
  const { t, language } = useTranslation();
  let start = 0;
  const pieces = DISPLAYED_DEVICE_STATES.flatMap((state) => {
    const part = counts && total > 0 ? (100 * counts[state]) / total : 0;
    const piece = { state, start, part };
    start += part;
    return part > 0 ? [piece] : [];
  });
  const gap = pieces.length > 1 ? GAP : 0;
  return (
    <div className="ring">
      <svg viewBox="0 0 42 42" aria-hidden="true">
        <circle className="ring-none" cx="21" cy="21" r="16" pathLength="100" />
        {pieces.map(({ state, start: from, part }) => (
          <circle
            key={state}
            className={`ring-piece ${state}`}
            cx="21"
            cy="21"
            r="16"
            pathLength="100"
            strokeDasharray={`${Math.max(part - gap, 0.4)} 100`}
            strokeDashoffset={-from}
          />
        ))}
      </svg>
      <span className="ring-words">
        <strong>{counts ? total.toLocaleString(language) : "–"}</strong>
        {t("dashboard.devices", { count: total })}
      </span>
    </div>
  );
}
