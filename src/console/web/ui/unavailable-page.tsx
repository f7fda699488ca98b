import type { ReactNode } from "react";
import { ErrorLine } from "./error-line.tsx";

/** A page whose row is not there: its head all the same, and why. */
export function UnavailablePage({ title, error, children }: { title: string; error: unknown; children?: ReactNode }) {
  return (
    <div className="page">
      {children}
      <h1>{title}</h1>
      <ErrorLine error={error} />
    </div>
  );
}
