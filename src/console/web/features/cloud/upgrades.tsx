import { Button } from "@mantine/core";
import { useState } from "react";
import type { UpgradeRow, UpgradeStepRow } from "../../api/link-rows.ts";
import { useRowMutation, useRows } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ConfirmButton } from "../../ui/confirm-button.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { SentenceText } from "../../ui/sentence-text.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import { UpgradeForm } from "./upgrade-form.tsx";
import { UpgradeProgress } from "./upgrade-progress.tsx";
import "../../ui/lines.css";

const TONES: Readonly<Record<UpgradeRow["state"] & string, string>> = {
  preparing: "",
  running: "",
  paused: "warn",
  stopped: "bad",
  cancelled: "",
  complete: "good",
};
const DONE_TONES: Readonly<Record<string, string>> = { done: "good", failed: "bad", skipped: "warn" };
/** The counts change without a change of the row. */
const POLL_INTERVAL_MS = 5_000;
const MAX_STEPS = 1_000;
/** Maximum number of steps that are listed. */
const MAX_SHOWN = 20;

/** Upgrades appliances in waves: begins, and shows how far the newest is. */
export function Upgrades({ version, chosen }: { version: string | null; chosen: ReadonlySet<string> }) {
  const { t } = useTranslation();
  const [begins, setBegins] = useState(false);
  const found = useRows<UpgradeRow>(
    "appliance-upgrades",
    {},
    { limit: 1, sort: "-createdAt" },
    { refetchInterval: POLL_INTERVAL_MS },
  );
  const newest = found.data?.data[0];
  const isOver = !newest || newest.state === "complete" || newest.state === "cancelled";
  return (
    <section className="card stack" aria-label={t("upgrade.title")}>
      <h2>{t("upgrade.title")}</h2>
      <ErrorLine error={found.error} />
      {version === null ? (
        <p className="soft">{t("upgrade.no-version")}</p>
      ) : (
        <div className="row">
          <span className="grow">{t("upgrade.offered", { version })}</span>
          <Button disabled={!isOver} onClick={() => setBegins(true)}>
            {chosen.size > 0 ? t("upgrade.begin-chosen", { count: chosen.size }) : t("upgrade.begin-all")}
          </Button>
        </div>
      )}
      {newest && <Progress upgrade={newest} />}
      {begins && version !== null && (
        <UpgradeForm version={version} endpointIds={[...chosen]} onClose={() => setBegins(false)} />
      )}
    </section>
  );
}

function Progress({ upgrade }: { upgrade: UpgradeRow }) {
  const { t, name } = useTranslation();
  const { id: applianceUpgradeId, state, counts } = upgrade;
  const route = "appliance-upgrades/{applianceUpgradeId}/turns";
  const found = useRows<UpgradeStepRow>(route, { applianceUpgradeId }, { limit: MAX_STEPS, sort: "-wave" });
  const turns = found.data?.data ?? [];
  const total = Object.values(counts ?? {}).reduce((sum, n) => sum + n, 0);
  return (
    <div className="stack" aria-live="polite">
      <div className="row">
        <strong>{upgrade.version}</strong>
        <Chip tone={TONES[state]}>{name("upgrade-state", state)}</Chip>
        <span className="grow soft">
          {t("upgrade.so-far", { done: counts?.done ?? 0, count: total })},{" "}
          <Timestamp at={upgrade.endedAt ?? upgrade.createdAt} />
        </span>
      </div>
      {upgrade.reason && (
        <p className="fault">
          <SentenceText text={upgrade.reason} sentence={upgrade.reasonSentence} />
        </p>
      )}
      {upgrade.waitingSince && (
        <p className="soft">
          {t("upgrade.waits")} <Timestamp at={upgrade.waitingSince} />
        </p>
      )}
      <ErrorLine error={found.error} />
      <UpgradeProgress upgrade={upgrade} turns={turns} />
      <UpgradeControls upgrade={upgrade} />
      <PlannedTimes turns={turns} />
    </div>
  );
}

/** What can be done with it at this moment. */
function UpgradeControls({ upgrade: { id: applianceUpgradeId, state } }: { upgrade: UpgradeRow }) {
  const { t } = useTranslation();
  const { client } = useConsole();
  const steering = useRowMutation<"pause" | "resume" | "cancel", unknown>("appliance-upgrades", (what) =>
    client.post(`appliance-upgrades/{applianceUpgradeId}/${what}`, { applianceUpgradeId }, {}),
  );
  if (state === "complete" || state === "cancelled" || state === "preparing") return null;
  return (
    <div className="row">
      {state === "running" ? (
        <Button variant="default" loading={steering.isPending} onClick={() => steering.mutate("pause")}>
          {t("upgrade.pause")}
        </Button>
      ) : (
        <Button loading={steering.isPending} onClick={() => steering.mutate("resume")}>
          {state === "stopped" ? t("upgrade.try-again") : t("upgrade.resume")}
        </Button>
      )}
      <ConfirmButton
        word={t("upgrade.cancel")}
        words={t("upgrade.cancel-text")}
        pending={steering.isPending}
        error={steering.error}
        onSure={() => steering.mutate("cancel")}
      />
      <ErrorLine error={steering.error} />
    </div>
  );
}

/** Those that did not just do it, by name. */
function PlannedTimes({ turns }: { turns: readonly UpgradeStepRow[] }) {
  const { t, name } = useTranslation();
  const told = turns.filter(({ state }) => state === "failed" || state === "ordered" || state === "skipped");
  return (
    <>
      <ul className="plain lined">
        {told.slice(0, MAX_SHOWN).map(({ id, state, reason, reasonSentence, endpoint, endpointId, orderedAt }) => (
          <li key={id} className="row">
            <strong>{endpoint?.name ?? endpointId}</strong>
            <Chip tone={DONE_TONES[state] ?? ""}>{name("upgrade-step", state)}</Chip>
            <span className="grow soft">
              {reason ? <SentenceText text={reason} sentence={reasonSentence} /> : <Timestamp at={orderedAt} />}
            </span>
          </li>
        ))}
      </ul>
      {told.length > MAX_SHOWN && <p className="soft">{t("upgrade.more", { count: told.length - MAX_SHOWN })}</p>}
    </>
  );
}
