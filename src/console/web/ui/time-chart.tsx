import { useMantineColorScheme } from "@mantine/core";
import { useEffect, useRef } from "react";
import UPlot from "uplot";
import "uplot/dist/uPlot.min.css";

/** A line of a chart; `colour` is a CSS variable, `dash` distinguishes it without colour. */
export interface ChartLine {
  name: string;
  label: string;
  colour: string;
  dash: readonly number[];
  /** Null where nothing is known. */
  values: readonly (number | null)[];
}

interface TimeChartProps {
  label: string;
  /** What the numbers count. */
  unit: string;
  /** Moments of the values, in seconds from the beginning; rising. */
  seconds: readonly number[];
  /** What the moments are called. */
  when: string;
  /** How a moment is written; as seconds unless given. */
  moment?(seconds: number): string;
  lines: readonly ChartLine[];
}

const HEIGHT_PX = 200;

/** Values over time, as steps. The same data must be in a table, since screen readers cannot read a canvas. */
export default function TimeChart({ label, unit, seconds, when, lines, moment = inSeconds }: TimeChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot | null>(null);
  const { colorScheme } = useMantineColorScheme();
  const data: UPlot.AlignedData = [[...seconds], ...lines.map(({ values }) => [...values])];
  const latest = useRef(data);
  latest.current = data;
  const look = JSON.stringify([unit, when, colorScheme, lines.map(({ values: _, ...line }) => line)]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `look` says all that the picture is made of
  useEffect(() => {
    const box = place.current;
    if (!box) return;
    const made = new UPlot(optionsFor(box, { unit, when, lines, moment }), latest.current, box);
    plot.current = made;
    const watcher = new ResizeObserver(() => made.setSize({ width: box.clientWidth, height: HEIGHT_PX }));
    watcher.observe(box);
    return () => {
      watcher.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [look]);
  useEffect(() => plot.current?.setData(data));
  return <div className="chart" ref={place} role="img" aria-label={label} />;
}

function inSeconds(seconds: number): string {
  return `${Math.round(seconds * 10) / 10} s`;
}

function optionsFor(
  box: HTMLElement,
  { unit, when, lines, moment }: Pick<Required<TimeChartProps>, "unit" | "when" | "lines" | "moment">,
): UPlot.Options {
  const style = getComputedStyle(box);
  const colourOf = (name: string): string => style.getPropertyValue(name);
  const axis = { stroke: colourOf("--soft"), grid: { stroke: colourOf("--line"), width: 1 }, ticks: { show: false } };
  const isWhole = (value: number): string => (Number.isInteger(value) ? String(value) : "");
  return {
    width: box.clientWidth,
    height: HEIGHT_PX,
    cursor: { drag: { x: false, y: false } },
    scales: { x: { time: false }, y: { range: (_plot, _min, max) => [0, Math.max(1, max * 1.05)] } },
    axes: [
      { ...axis, values: (_plot, marks) => marks.map(moment) },
      { ...axis, label: unit, labelSize: 20, size: 44, values: (_plot, marks) => marks.map(isWhole) },
    ],
    series: [
      { label: when, value: (_plot, value) => (value === null ? "–" : moment(value)) },
      ...lines.map((line) => ({
        label: line.label,
        stroke: colourOf(line.colour),
        width: 2,
        dash: [...line.dash],
        points: { show: false },
        ...(UPlot.paths.stepped ? { paths: UPlot.paths.stepped({ align: 1 }) } : {}),
      })),
    ],
  };
}
