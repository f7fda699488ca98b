import { useLocation, useNavigate, useRouter } from "@tanstack/react-router";
import { useId, useState } from "react";

/** A sheet that no address names: an entry in the browser's history, so that Back closes it and Forward opens it again. */
export function useHistorySheet<T>(): { opened: T | null; open(what: T): void; close(): void } {
  const id = useId();
  const [what, setWhat] = useState<T | null>(null);
  const isOpen = useLocation().state.opened === id;
  const navigate = useNavigate();
  const { history } = useRouter();
  return {
    opened: isOpen ? what : null,
    open(next) {
      setWhat(next);
      void navigate({ to: ".", search: true, state: (old) => ({ ...old, opened: id }), replace: isOpen });
    },
    close() {
      if (isOpen) history.back();
    },
  };
}
