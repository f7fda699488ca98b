import { remainingWaves } from "../../../../resources/devices/upgrade-waves.ts";
import type { UpgradeRow, UpgradeStepRow } from "../../api/link-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import "./upgrades.css";

type StepState = UpgradeStepRow["state"] & string;

/** Order of the states in text and picture. */
const STATES = ["done", "ordered", "failed", "skipped", "cancelled"] as const satisfies readonly StepState[];
const SIGNS: Readonly<Record<StepState, string>> = {
  done: "✓",
  ordered: "…",
  failed: "✕",
  skipped: "–",
  cancelled: "–",
  waiting: "",
};
/** More appliances are shown as a number. */
const MAX_DRAWN = 60;
const MAX_WAVES = 12;

/** Waves side by side, each appliance as a square with an icon; the same as text. */
export function UpgradeProgress({ upgrade, turns }: { upgrade: UpgradeRow; turns: readonly UpgradeStepRow[] }) {
  const { t } = useTranslation();
  const isOpen = upgrade.state !== "cancelled" && upgrade.state !== "complete";
  const told = new Map<number, UpgradeStepRow[]>();
  for (const turn of turns) if (turn.wave !== null) told.set(turn.wave, [...(told.get(turn.wave) ?? []), turn]);
  const waves = [...told].sort(([a], [b]) => a - b);
  const sizes = isOpen ? remainingWaves(upgrade, upgrade.wave, upgrade.counts?.waiting ?? 0, MAX_WAVES) : [];
  const coming = sizes.map((size, at) => ({ wave: upgrade.wave + at + 1, size }));
  return (
    <ol className="plain waves" aria-label={t("upgrade.waves")}>
      {waves.map(([wave, here]) => (
        <Wave key={wave} wave={wave} states={STATES.flatMap((state) => here.filter((each) => each.state === state))} />
      ))}
      {coming.map((each) => (
        <ComingWave key={each.wave} {...each} />
      ))}
    </ol>
  );
}

function Wave({ wave, states }: { wave: number; states: readonly UpgradeStepRow[] }) {
  const { t, name } = useTranslation();
  const counts = STATES.flatMap((state) => {
    const n = states.filter((each) => each.state === state).length;
    return n > 0 ? [`${n} ${name("upgrade-step", state)}`] : [];
  });
  return (
    <li>
      <strong>{t("upgrade.wave", { count: wave })}</strong>
      <span className="wave-squares" aria-hidden="true">
        {states.slice(0, MAX_DRAWN).map(({ id, state }) => (
          <span key={id} className={`wave-square ${state}`}>
            {SIGNS[state]}
          </span>
        ))}
      </span>
      <span className="soft">{counts.join(", ")}</span>
    </li>
  );
}

function ComingWave({ wave, size }: { wave: number; size: number }) {
  const { t } = useTranslation();
  return (
    <li>
      <strong>{t("upgrade.wave", { count: wave })}</strong>
      <span className="wave-squares" aria-hidden="true">
        {Array.from({ length: Math.min(size, MAX_DRAWN) }, (_, at) => `${wave}/${at}`).map((key) => (
          <span key={key} className="wave-square waiting" />
        ))}
      </span>
      <span className="soft">{t("upgrade.to-come", { count: size })}</span>
    </li>
  );
}
