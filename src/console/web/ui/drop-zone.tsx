import { Button } from "@mantine/core";
import { type DragEvent, useRef, useState } from "react";
import { useTranslation } from "../i18n/use-translation.tsx";
import "./lines.css";
import "../features/uploads/uploads.css";

interface DropZoneProps {
  label: string;
  hint?: string;
  /** Endings and media types that the file chooser shows; all unless given. */
  accept?: string;
  /** The last one is still being taken. */
  busy: boolean;
  onFile(file: File): void;
}

/** Takes one file: dropped here, or chosen. */
export function DropZone({ label, hint, accept, busy, onFile }: DropZoneProps) {
  const { t } = useTranslation();
  const [over, setOver] = useState(false);
  const chooser = useRef<HTMLInputElement>(null);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const file = event.dataTransfer.files[0];
    if (file && !busy) onFile(file);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping is for the pointer, the button is for everybody
    <div
      className="drop-zone"
      data-over={over}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <strong>{over ? t("drop-zone.let-go") : label}</strong>
      {hint && <span className="soft">{hint}</span>}
      <input
        ref={chooser}
        type="file"
        className="visually-hidden"
        tabIndex={-1}
        aria-label={label}
        {...(accept ? { accept } : {})}
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          // The same file, once mended, must be taken again.
          event.currentTarget.value = "";
          if (file) onFile(file);
        }}
      />
      <Button variant="default" loading={busy} onClick={() => chooser.current?.click()}>
        {t("drop-zone.choose")}
      </Button>
    </div>
  );
}
