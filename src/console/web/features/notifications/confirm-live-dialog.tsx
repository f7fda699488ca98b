import { Button } from "@mantine/core";
import { useRows } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { HoldButton } from "../../ui/hold-button.tsx";

interface ConfirmLiveDialogProps {
  subject: string;
  devices: number | null;
  /** It is sent as an emergency. */
  emergency: boolean;
  onSend(): void;
  onClose(): void;
}

/** Share of all devices from which a message is an all-call; the same as for two-person approval. */
const ALL_CALL = 0.9;

/** The one more step that a live message takes and a drill doesn't; an emergency or an all-call is held, as its tile would be. */
export function ConfirmLiveDialog({ subject, devices, emergency, onSend, onClose }: ConfirmLiveDialogProps) {
  const { t } = useTranslation();
  const all = useRows("devices", {}, { limit: 1 }).data?.total ?? 0;
  const isHeld = emergency || (devices !== null && all > 0 && devices >= ALL_CALL * all);
  return (
    <Dialog onClose={onClose} title={t("live.title")}>
      <div className="stack">
        <p className="mode">{devices === null ? t("live.question") : t("live.question-n", { count: devices })}</p>
        <p>
          <strong>{subject}</strong>
        </p>
        <div className="row">
          {isHeld ? (
            <HoldButton className="send-live" onHeld={onSend}>
              <strong>{t("live.send")}</strong>
            </HoldButton>
          ) : (
            <Button color="red" size="md" onClick={onSend} data-autofocus>
              {t("live.send")}
            </Button>
          )}
          <Button variant="default" size="md" onClick={onClose}>
            {t("cancel")}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
