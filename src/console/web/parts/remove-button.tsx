import { Button } from "@mantine/core";
import { useState } from "react";
import { useWords } from "../words/use-words.tsx";

/** Removes at the second press: what is removed can't be brought back with its id. */
export function RemoveButton({
  pending,
  onRemove,
  label,
}: {
  pending: boolean;
  onRemove: () => void;
  /** Another word for it, such as the one for a token. */
  label?: string;
}) {
  const { t } = useWords();
  const [armed, setArmed] = useState(false);
  return (
    <Button
      variant={armed ? "filled" : "default"}
      {...(armed ? { color: "red" } : { c: "var(--bad)" })}
      ml="auto"
      loading={pending}
      onClick={() => (armed ? onRemove() : setArmed(true))}
      onBlur={() => setArmed(false)}
    >
      {armed ? t("remove.really") : (label ?? t("remove"))}
    </Button>
  );
}
