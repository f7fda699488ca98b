import { Button } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "../i18n/use-translation.tsx";
import { Dialog } from "./dialog.tsx";
import { ErrorLine } from "./error-line.tsx";

interface ConfirmButtonProps {
  word: string;
  /** What follows from it. */
  words: string;
  pending: boolean;
  error: unknown;
  onSure(): void;
}

/** A button for an irreversible action; shows the consequences and asks for confirmation. */
export function ConfirmButton({ word, words, pending, error, onSure }: ConfirmButtonProps) {
  const { t } = useTranslation();
  const [asks, setAsks] = useState(false);
  return (
    <div>
      <Button variant="default" onClick={() => setAsks(true)}>
        {word}
      </Button>
      {asks && (
        <Dialog title={word} onClose={() => setAsks(false)}>
          <div className="stack">
            <p>{words}</p>
            <ErrorLine error={error} />
            <div className="row">
              <Button
                color="red"
                loading={pending}
                onClick={() => {
                  onSure();
                  setAsks(false);
                }}
              >
                {word}
              </Button>
              <Button variant="default" onClick={() => setAsks(false)}>
                {t("cancel")}
              </Button>
            </div>
          </div>
        </Dialog>
      )}
    </div>
  );
}
