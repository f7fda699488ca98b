import { Button, TextInput } from "@mantine/core";
import { useRef } from "react";
import { useConsole } from "../console-context.tsx";
import { useTranslation } from "../i18n/use-translation.tsx";
import "./input-styles.ts";

/** A text to be taken elsewhere. Over plain HTTP browsers have no clipboard to write to: the text is selected, then copied. */
export function CopyField({ label, value, hint }: { label: string; value: string; hint?: string }) {
  const { t } = useTranslation();
  const { notify } = useConsole();
  const field = useRef<HTMLInputElement>(null);
  const copy = async () => {
    field.current?.select();
    const isCopied = await writeClipboard(value);
    notify(isCopied ? t("copied") : t("copy.by-hand"));
  };
  return (
    <div className="row copy">
      <TextInput
        ref={field}
        label={label}
        description={hint}
        value={value}
        readOnly
        flex="1 1 14rem"
        styles={{ input: { fontFamily: "monospace" } }}
        onFocus={(event) => event.currentTarget.select()}
      />
      <Button variant="default" onClick={() => void copy()}>
        {t("copy")}
      </Button>
    </div>
  );
}

/** Writes `text`, which is selected in its field; false when the browser does not let the page in either way. */
async function writeClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return document.execCommand("copy");
  }
}
