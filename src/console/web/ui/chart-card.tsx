import { lazy, Suspense } from "react";
import type { ChartLine } from "./time-chart.tsx";

const TimeChart = lazy(() => import("./time-chart.tsx"));

interface ChartCardProps {
  title: string;
  unit: string;
  /** What the moments are called: at the picture, in the table. */
  when: { picture: string; table: string };
  seconds: readonly number[];
  lines: readonly ChartLine[];
  /** Writes moments below the picture; seconds unless given. */
  moment?: (seconds: number) => string;
  table: {
    title: string;
    /** Which moments stand in it. */
    shown: readonly number[];
    moment(seconds: number): string;
    head(line: ChartLine): string;
  };
}

/** Lines over time, as a picture and as a table. */
export function ChartCard({ title, unit, when, seconds, lines, moment, table }: ChartCardProps) {
  return (
    <section className="card">
      <h2>{title}</h2>
      <Suspense fallback={<div className="chart" />}>
        <TimeChart label={title} when={when.picture} {...{ unit, seconds, lines }} {...(moment ? { moment } : {})} />
      </Suspense>
      <details>
        <summary>{table.title}</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
        <section className="scroll" tabIndex={0} aria-label={table.title}>
          <table className="numbers">
            <thead>
              <tr>
                <th scope="col">{when.table}</th>
                {lines.map((line) => (
                  <th key={line.name} scope="col">
                    {table.head(line)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {table.shown.map((index) => (
                <tr key={seconds[index]}>
                  <th scope="row">{table.moment(seconds[index] ?? 0)}</th>
                  {lines.map(({ name, values }) => (
                    <td key={name}>{values[index] ?? "–"}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      </details>
    </section>
  );
}
