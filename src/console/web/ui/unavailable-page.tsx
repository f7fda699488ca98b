import type { ReactNode } from "react";
import { ErrorLine } from "./error-line.tsx";
import { PageTitle } from "./page-title.tsx";

/** A page whose row could not be loaded: its title and the reason. */
export function UnavailablePage({ title, error, children }: { title: string; error: unknown; children?: ReactNode }) {
  return (
    <div className="page">
      {children}
      <PageTitle>{title}</PageTitle>
      <ErrorLine error={error} />
    </div>
  );
}
