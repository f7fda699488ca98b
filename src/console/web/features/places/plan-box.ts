import type { PlanPoint } from "./georeference.ts";

/** A rectangle on a plan, in hundredths of its width and height from the top left corner. */
export interface PlanBox {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** Initial outline of a zone. */
export const FIRST_BOX: PlanBox = { left: 40, top: 40, width: 20, height: 20 };

/** The rectangle around an outline, to a tenth. */
export function boxAround(outline: readonly PlanPoint[]): PlanBox {
  const across = outline.map(({ x }) => x);
  const down = outline.map(({ y }) => y);
  const [left, top] = [Math.min(...across), Math.min(...down)];
  const tenth = (part: number) => Math.round(part * 1_000) / 10;
  return {
    left: tenth(left),
    top: tenth(top),
    width: tenth(Math.max(...across) - left),
    height: tenth(Math.max(...down) - top),
  };
}

/** The outline of a rectangle as a zone keeps it, in parts of the plan and never beyond its edges. */
export function boundaryOf({ left, top, width, height }: PlanBox): [number, number][] {
  const part = (hundredths: number) => Math.round(Math.min(100, Math.max(0, hundredths)) * 10) / 1_000;
  const [x, y, right, bottom] = [left, top, left + width, top + height].map(part) as [number, number, number, number];
  return [
    [x, y],
    [right, y],
    [right, bottom],
    [x, bottom],
  ];
}

/** The rectangle that is typed; null while a number is missing or it has no size. */
export function typedBox(values: Readonly<Record<string, unknown>>): PlanBox | null {
  const { left, top, width, height } = values;
  const numbers = [left, top, width, height];
  if (!numbers.every((each) => typeof each === "number" && Number.isFinite(each))) return null;
  const box = { left, top, width, height } as PlanBox;
  return box.width > 0 && box.height > 0 ? box : null;
}
