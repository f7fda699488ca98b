import { useEffect, useRef } from "react";
import { useConsole } from "../../console-context.tsx";

/** Calls `onIdle` after `ms` without input; again after the next input. */
export function useIdle(ms: number, onIdle: () => void): void {
  const { clock } = useConsole();
  const latest = useRef(onIdle);
  latest.current = onIdle;
  useEffect(() => {
    let timer = clock.after(ms, () => latest.current());
    const touched = () => {
      timer.cancel();
      timer = clock.after(ms, () => latest.current());
    };
    const kinds = ["pointerdown", "keydown", "wheel"] as const;
    for (const kind of kinds) addEventListener(kind, touched, { passive: true });
    return () => {
      timer.cancel();
      for (const kind of kinds) removeEventListener(kind, touched);
    };
  }, [clock, ms]);
}
