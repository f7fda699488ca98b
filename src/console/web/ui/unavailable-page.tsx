import type { ReactNode } from "react";
import { FaultLine } from "./error-line.tsx";

/** A page whose row is not there: its head all the same, and why. */
export function UnreadPage({ title, error, children }: { title: string; error: unknown; children?: ReactNode }) {
  return (
    <div className="page">
      {children}
      <h1>{title}</h1>
      <FaultLine error={error} />
    </div>
  );
}
