import { Button } from "@mantine/core";
import type { Dependent } from "../api/client.ts";
import { useTranslation } from "../i18n/use-translation.tsx";
import { Dialog } from "./dialog.tsx";
import { Chip } from "./status-chip.tsx";

/** A change that takes something from rows that use it. */
export interface DetachQuestion {
  /** What is removed; null for a change. */
  name: string | null;
  dependents: readonly Dependent[];
  onAnswer(isConfirmed: boolean): void;
}

const ROLE_TONES = { emergency: "bad", input: "warn", bells: "warn", ordinary: "neutral" } as const;

/** Lists what uses a row before it is removed or emptied; the safe answer comes first. */
export function DetachDialog({ name, dependents, onAnswer }: DetachQuestion) {
  const { t, name: nameOf } = useTranslation();
  const isOrdinary = dependents.every(({ role }) => role === "ordinary");
  return (
    <Dialog
      onClose={() => onAnswer(false)}
      title={name === null ? t("detach.title-change") : t("detach.title", { name })}
    >
      <div className="stack">
        <p>{t("detach.why", { count: dependents.length })}</p>
        <ul className="plain lined">
          {dependents.map(({ type, id, name: shown, role, left }) => (
            <li key={id} className="row">
              <Chip tone={ROLE_TONES[role]}>{nameOf("detach-role", role)}</Chip>
              <strong className="grow">{shown ?? t("detach.hidden")}</strong>
              {left && <Left {...left} />}
              <span className="soft">{nameOf("resource", type)}</span>
            </li>
          ))}
        </ul>
        <p>{t(isOrdinary ? "detach.effect-ordinary" : "detach.effect")}</p>
        <div className="row">
          <Button size="md" data-autofocus onClick={() => onAnswer(false)}>
            {t("detach.keep")}
          </Button>
          <Button variant="default" c="var(--bad)" size="md" onClick={() => onAnswer(true)}>
            {t("detach.go")}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

/** Recipients that a message still has. */
function Left({ devices, users }: { devices: number; users: number }) {
  const { t } = useTranslation();
  if (devices + users === 0) return <Chip tone="bad">{t("detach.left-none")}</Chip>;
  return <span>{t("detach.left", { devices, users })}</span>;
}
