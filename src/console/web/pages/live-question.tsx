import { Button } from "@mantine/core";
import { Dialog } from "../parts/dialog.tsx";
import { useWords } from "../words/use-words.tsx";

interface LiveQuestionProps {
  subject: string;
  devices: number | null;
  onSend(): void;
  onClose(): void;
}

/** The one more step that a live message takes and a drill doesn't. */
export function LiveQuestion({ subject, devices, onSend, onClose }: LiveQuestionProps) {
  const { t } = useWords();
  return (
    <Dialog onClose={onClose} title={t("live.title")}>
      <div className="stack">
        <p className="mode">{devices === null ? t("live.question") : t("live.question-n", { n: devices })}</p>
        <p>
          <strong>{subject}</strong>
        </p>
        <div className="row">
          <Button color="red" size="md" onClick={onSend} data-autofocus>
            {t("live.send")}
          </Button>
          <Button variant="default" size="md" onClick={onClose}>
            {t("cancel")}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
