import { Button } from "@mantine/core";
import type { Dependent } from "../api/client.ts";
import { useTranslation } from "../i18n/use-translation.tsx";
import { Dialog } from "./dialog.tsx";
import { Chip } from "./status-chip.tsx";

/** A change that takes something from emergencies, inputs or bells. */
export interface DetachQuestion {
  /** What is removed; null for a change. */
  name: string | null;
  dependents: readonly Dependent[];
  onAnswer(isConfirmed: boolean): void;
}

const ROLE_TONES = { emergency: "bad", input: "warn", bells: "warn" } as const;

/** Lists what uses a row before it is removed or emptied; the safe answer comes first. */
export function DetachDialog({ name, dependents, onAnswer }: DetachQuestion) {
  const { t, name: nameOf } = useTranslation();
  return (
    <Dialog
      onClose={() => onAnswer(false)}
      title={name === null ? t("detach.title-change") : t("detach.title", { name })}
    >
      <div className="stack">
        <p>{t("detach.why", { count: dependents.length })}</p>
        <ul className="plain lined">
          {dependents.map(({ type, id, name: shown, role }) => (
            <li key={id} className="row">
              <Chip tone={ROLE_TONES[role]}>{nameOf("detach-role", role)}</Chip>
              <strong className="grow">{shown ?? t("detach.hidden")}</strong>
              <span className="soft">{nameOf("resource", type)}</span>
            </li>
          ))}
        </ul>
        <p>{t("detach.effect")}</p>
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
