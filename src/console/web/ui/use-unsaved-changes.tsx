import { Button } from "@mantine/core";
import { useBlocker } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useTranslation } from "../i18n/use-translation.tsx";
import { Dialog } from "./dialog.tsx";

/**
 * Asks before unsaved input is lost: on navigation, when the sheet closes, or when the window closes. Render the
 * returned element. `onDiscard` is called when the user gives the input up.
 */
export function useUnsavedChanges(dirty: boolean, onDiscard?: () => void): ReactNode {
  const { t } = useTranslation();
  const blocker = useBlocker({ shouldBlockFn: () => dirty, enableBeforeUnload: dirty, withResolver: true });
  if (blocker.status !== "blocked") return null;
  const discard = () => {
    onDiscard?.();
    blocker.proceed();
  };
  return (
    <Dialog title={t("unsaved.title")} onClose={blocker.reset}>
      <div className="stack">
        <p>{t("unsaved.intro")}</p>
        <div className="row">
          <Button onClick={blocker.reset} data-autofocus>
            {t("unsaved.stay")}
          </Button>
          <Button variant="default" onClick={discard}>
            {t("discard")}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
