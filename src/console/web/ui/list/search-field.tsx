import { CloseButton, TextInput } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";

const PAUSE_MS = 250;

/** A debounced search field; Escape clears it. */
export function SearchField({
  value,
  onSearch,
  label,
}: {
  value: string;
  onSearch: (text: string) => void;
  /** What is searched, where it is not the list below. */
  label?: string;
}) {
  const { clock } = useConsole();
  const { t } = useTranslation();
  const [text, setText] = useState(value);
  const told = useRef(value);
  useEffect(() => {
    // The address was changed elsewhere, as by the way back.
    if (value !== told.current) setText(value);
    told.current = value;
  }, [value]);
  useEffect(() => {
    if (text === told.current) return;
    const timer = clock.after(PAUSE_MS, () => {
      told.current = text;
      onSearch(text);
    });
    return () => timer.cancel();
  }, [clock, text, onSearch]);
  return (
    <TextInput
      className="list-search"
      type="search"
      aria-label={label ?? t("search.list")}
      placeholder={label ?? t("search.list")}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
      onKeyDown={(event) => event.key === "Escape" && setText("")}
      rightSection={text ? <CloseButton size="sm" aria-label={t("search.clear")} onClick={() => setText("")} /> : null}
    />
  );
}
