import { TextInput } from "@mantine/core";
import { useEffect, useState } from "react";
import { useConsole } from "../console-context.tsx";
import { useWords } from "../words/use-words.tsx";
import "./input-styles.ts";

const PAUSE_MS = 300;

/** A search that is told when the typing rests. */
export function SearchField({ value, onSearch }: { value: string; onSearch: (text: string) => void }) {
  const { clock } = useConsole();
  const { t } = useWords();
  const [text, setText] = useState(value);
  useEffect(() => {
    if (text === value) return;
    const timer = clock.after(PAUSE_MS, () => onSearch(text));
    return () => timer.cancel();
  }, [clock, text, value, onSearch]);
  return (
    <TextInput
      type="search"
      aria-label={t("search.list")}
      placeholder={t("search.list")}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
    />
  );
}
