import { Button, Input } from "@mantine/core";
import { useRef } from "react";
import { useTranslation } from "../i18n/use-translation.tsx";

interface FileFieldProps {
  id: string;
  label: string;
  description?: string | undefined;
  required: boolean;
  error: string | null;
  accept: readonly string[];
  /** A file that was chosen, the size in bytes of the one that is there, or nothing. */
  value: unknown;
  onChange(value: File | null): void;
}

/** One file, which can be replaced or removed. */
export function FileField({ accept, value, onChange, ...shown }: FileFieldProps) {
  const { t } = useTranslation();
  const input = useRef<HTMLInputElement>(null);
  const isThere = value instanceof File || Number(value ?? 0) > 0;
  return (
    <Input.Wrapper {...shown}>
      <div className="row">
        <input
          ref={input}
          id={shown.id}
          type="file"
          className="file-input"
          accept={accept.join()}
          onChange={(event) => onChange(event.currentTarget.files?.[0] ?? null)}
        />
        {isThere && (
          <Button
            variant="default"
            size="compact-sm"
            onClick={() => {
              if (input.current) input.current.value = "";
              onChange(null);
            }}
          >
            {t("form.take-away", { label: shown.label })}
          </Button>
        )}
      </div>
    </Input.Wrapper>
  );
}
