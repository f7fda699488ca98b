import { Button } from "@mantine/core";
import type { ReactNode } from "react";
import { useNow } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";

interface FieldConflictProps {
  name: string;
  onSettle(name: string, side: "mine" | "theirs"): void;
  /** The field as the other person left it. */
  children: ReactNode;
}

/** Below a field that somebody else changed, too: their value, and the choice between the two. */
export function FieldConflict({ name, onSettle, children }: FieldConflictProps) {
  const { t } = useTranslation();
  return (
    <div className="field-conflict stack">
      <fieldset disabled className="stack">
        <legend>{t("edit-conflict.theirs")}</legend>
        {children}
      </fieldset>
      <div className="row">
        <Button variant="default" size="compact-sm" onClick={() => onSettle(name, "mine")}>
          {t("edit-conflict.keep-mine")}
        </Button>
        <Button variant="default" size="compact-sm" onClick={() => onSettle(name, "theirs")}>
          {t("edit-conflict.use-theirs")}
        </Button>
      </div>
    </div>
  );
}

/** Says that unsaved input of an earlier visit was put into the form. */
export function RestoredNote({ at }: { at: number }) {
  const { t, dates } = useTranslation();
  return (
    <p className="soft" role="status">
      {t("draft.restored", { at: dates.short(at, useNow()) })}
    </p>
  );
}
