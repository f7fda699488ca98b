import { useEffect } from "react";
import { useConsole } from "../console-context.tsx";
import { useTranslation } from "../i18n/use-translation.tsx";

/** Something said for a while. */
export interface ToastMessage {
  text: string;
  undo?: (() => void) | undefined;
}

const SHOWN_MS = 10_000;

/** A message for ten seconds, with undo. */
export function Toast({ toast, onEnd }: { toast: ToastMessage; onEnd: () => void }) {
  const { clock } = useConsole();
  const { t } = useTranslation();
  useEffect(() => {
    const timer = clock.after(SHOWN_MS, () => toast && onEnd());
    return () => timer.cancel();
  }, [clock, toast, onEnd]);
  const takeBack = () => {
    toast.undo?.();
    onEnd();
  };
  return (
    <div className="toasts" role="status">
      <div className="toast">
        <span>{toast.text}</span>
        {toast.undo && (
          <button type="button" onClick={takeBack}>
            {t("undo")}
          </button>
        )}
        <button type="button" onClick={onEnd}>
          {t("close")}
        </button>
      </div>
    </div>
  );
}
