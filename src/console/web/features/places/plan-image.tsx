import { type KeyboardEvent, type PointerEvent, useEffect, useRef, useState } from "react";
import type { OutcomeTone } from "../../../../resources/notifications/device-outcomes.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import type { PlanPoint } from "./georeference.ts";

/** A marker on a plan. */
export interface PlanMarker {
  id: string;
  name: string;
  at: PlanPoint;
  canMove: boolean;
}

interface PlanPictureProps {
  url: string;
  /** What people call the floor. */
  name: string;
  /** `tone` colours a zone by the state of what is in it. */
  outlines: readonly {
    id: string;
    name: string;
    outline: readonly PlanPoint[];
    tone?: OutcomeTone | "waiting";
  }[];
  marks: readonly PlanMarker[];
  /** Receives the ratio of the height of the image to its width. */
  onRatio(ratio: number): void;
  /** A mark was moved and has come to rest. */
  onMove(id: string, at: PlanPoint): void;
}

/** Part of the picture that an arrow key moves a mark by. */
const STEP = 0.01;
/** A mark that the keys have not moved for so long is where it is meant to be. */
const REST_MS = 600;
const STEPS: Readonly<Record<string, PlanPoint>> = {
  ArrowLeft: { x: -STEP, y: 0 },
  ArrowRight: { x: STEP, y: 0 },
  ArrowUp: { x: 0, y: -STEP },
  ArrowDown: { x: 0, y: STEP },
};

/** A plan with the outlines of its zones and marks that are moved by hand or by keys. */
export function PlanImage({ url, name, outlines, marks, onRatio, onMove }: PlanPictureProps) {
  const { t } = useTranslation();
  const place = useRef<HTMLDivElement>(null);
  const pointAt = ({ clientX, clientY }: PointerEvent): PlanPoint => {
    const box = place.current?.getBoundingClientRect();
    if (!box) return { x: 0, y: 0 };
    return within({ x: (clientX - box.left) / box.width, y: (clientY - box.top) / box.height });
  };
  return (
    <div ref={place} className="plan">
      <img
        src={url}
        alt={t("plan.of", { name })}
        draggable={false}
        onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) => onRatio(naturalHeight / (naturalWidth || 1))}
      />
      <svg viewBox="0 0 1 1" preserveAspectRatio="none" aria-hidden="true">
        {outlines.map(({ id, outline, tone }) => (
          <polygon key={id} data-tone={tone} points={outline.map(({ x, y }) => `${x},${y}`).join(" ")} />
        ))}
      </svg>
      {marks.map((mark) => (
        <MarkButton key={mark.id} {...{ mark, pointAt, onMove }} />
      ))}
    </div>
  );
}

interface MarkButtonProps {
  mark: PlanMarker;
  pointAt(event: PointerEvent): PlanPoint;
  onMove(id: string, at: PlanPoint): void;
}

function MarkButton({ mark, pointAt, onMove }: MarkButtonProps) {
  const { t } = useTranslation();
  const { clock } = useConsole();
  const { id, name, canMove } = mark;
  const [moved, setMoved] = useState<PlanPoint | null>(null);
  const [isHeld, setHeld] = useState(false);
  const at = moved ?? within(mark.at);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new position from the appliance replaces the local one
  useEffect(() => setMoved(null), [mark.at.x, mark.at.y]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the new position is reported once the marker rests
  useEffect(() => {
    if (!moved || isHeld) return;
    const resting = clock.after(REST_MS, () => onMove(id, moved));
    return () => resting.cancel();
  }, [clock, moved, isHeld]);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (!step || !canMove) return;
    event.preventDefault();
    setMoved(within({ x: at.x + step.x, y: at.y + step.y }));
  };
  return (
    <button
      type="button"
      className="plan-mark"
      data-moves={canMove}
      style={{ left: `${at.x * 100}%`, top: `${at.y * 100}%` }}
      aria-label={canMove ? t("plan.mark", { name }) : name}
      onKeyDown={onKeyDown}
      onPointerDown={(event) => {
        if (!canMove) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        setHeld(true);
      }}
      onPointerMove={(event) => isHeld && setMoved(pointAt(event))}
      onPointerUp={() => setHeld(false)}
      onPointerCancel={() => setHeld(false)}
    >
      <span aria-hidden="true">{name}</span>
    </button>
  );
}

function within({ x, y }: PlanPoint): PlanPoint {
  const inside = (part: number) => Math.min(1, Math.max(0, part));
  return { x: inside(x), y: inside(y) };
}
