import { Button } from "@mantine/core";
import type { ReachWarning } from "../../api/rows.ts";
import { useRows } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { HoldButton } from "../../ui/hold-button.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { reachWarningText } from "./reach-warning-text.ts";

interface ConfirmLiveDialogProps {
  subject: string;
  devices: number | null;
  /** Why it would reach no one; null where it reaches any recipient. */
  warning: ReachWarning | null;
  /** It is sent as an emergency. */
  emergency: boolean;
  onSend(): void;
  onClose(): void;
}

/** Share of all devices from which a message is an all-call; the same as for two-person approval. */
const ALL_CALL = 0.9;

/**
 * The one more step that a live message takes and a drill doesn't; an emergency or an all-call is held, as its tile would
 * be. For a message that would reach no one it is another question, which Enter does not answer.
 */
export function ConfirmLiveDialog({ subject, devices, warning, emergency, onSend, onClose }: ConfirmLiveDialogProps) {
  const { t } = useTranslation();
  const all = useRows("devices", {}, { limit: 1 }).data?.total ?? 0;
  const isHeld = emergency || (devices !== null && all > 0 && devices >= ALL_CALL * all);
  const send = t(warning ? "live.send-anyway" : "live.send");
  return (
    <Dialog onClose={onClose} title={t(warning ? "live.no-one-title" : "live.title")}>
      <div className="stack">
        {warning ? (
          <>
            <p className="mode">{t("live.no-one-question")}</p>
            <p>
              <Chip tone="bad">{t("live.no-one-why")}</Chip> {reachWarningText(warning, t)}
            </p>
          </>
        ) : (
          <p className="mode">{devices === null ? t("live.question") : t("live.question-n", { count: devices })}</p>
        )}
        <p>
          <strong>{subject}</strong>
        </p>
        <div className="row">
          {isHeld ? (
            <HoldButton className="send-live" onHeld={onSend}>
              <strong>{send}</strong>
            </HoldButton>
          ) : (
            <Button color="red" size="md" onClick={onSend} data-autofocus={warning === null || undefined}>
              {send}
            </Button>
          )}
          <Button variant="default" size="md" onClick={onClose} data-autofocus={warning !== null || undefined}>
            {t("cancel")}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
