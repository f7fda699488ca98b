import { type KeyboardEvent, type PointerEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { useConsole } from "../console-context.tsx";
import { useTranslation } from "../i18n/use-translation.tsx";

interface HoldButtonProps {
  className: string;
  disabled?: boolean;
  children: ReactNode;
  /** It was held long enough; once per hold. */
  onHeld(): void;
}

/** Time to hold: longer than any slip, short enough for an emergency. */
const HOLD_MS = 1_500;
/** Time for the second press of users who cannot hold. */
const ARMED_MS = 8_000;

/** Distance in px from which a sliding finger cancels; a shaking one stays below it. */
const SLID_PX = 64;

type State = "rest" | "holding" | "armed" | "held";

/**
 * A button that acts when it is held down, by pointer, Enter or Space. It stays held when the layout moves under the
 * pointer; sliding far away cancels. Screen readers press without holding: a second press within eight seconds does
 * the same.
 */
export function HoldButton({ className, disabled = false, children, onHeld }: HoldButtonProps) {
  const { t } = useTranslation();
  const hint = useId();
  const { state, begin, end, press } = useHold(onHeld);
  const pressedAt = useRef({ x: 0, y: 0 });
  const onPress = (event: PointerEvent<HTMLElement>) => {
    if (event.button !== 0) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    pressedAt.current = { x: event.clientX, y: event.clientY };
    begin();
  };
  const onMove = ({ clientX, clientY }: PointerEvent) => {
    const { x, y } = pressedAt.current;
    if (Math.hypot(clientX - x, clientY - y) > SLID_PX) end();
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    // The press that browsers make of it would count as one of those who can't hold.
    event.preventDefault();
    if (event.type === "keyup") end();
    else if (!event.repeat) begin();
  };
  return (
    <button
      type="button"
      className={`hold ${className}`}
      data-state={state}
      disabled={disabled}
      aria-describedby={hint}
      onPointerDown={onPress}
      onPointerMove={onMove}
      onPointerUp={end}
      onPointerCancel={end}
      onContextMenu={(event) => event.preventDefault()}
      onKeyDown={onKey}
      onKeyUp={onKey}
      onBlur={end}
      onClick={(event) => event.detail === 0 && press()}
    >
      <span className="hold-fill" aria-hidden="true" style={{ transitionDuration: `${HOLD_MS}ms` }} />
      <span className="hold-words">
        {children}
        <small id={hint}>{t(`hold.${state}`)}</small>
      </span>
    </button>
  );
}

function useHold(onHeld: () => void) {
  const { clock } = useConsole();
  const [state, setState] = useState<State>("rest");
  const timer = useRef<{ cancel(): void } | null>(null);
  const latest = useRef(onHeld);
  latest.current = onHeld;
  useEffect(() => () => timer.current?.cancel(), []);
  const go = (next: State, afterMs: number, then: () => void) => {
    timer.current?.cancel();
    setState(next);
    timer.current = clock.after(afterMs, then);
  };
  const rest = () => {
    timer.current?.cancel();
    setState("rest");
  };
  const act = () => {
    timer.current?.cancel();
    setState("held");
    latest.current();
  };
  return {
    state,
    begin: () => state !== "holding" && go("holding", HOLD_MS, act),
    end: () => (state === "holding" || state === "held") && rest(),
    press: () => (state === "armed" ? act() : go("armed", ARMED_MS, rest)),
  };
}
