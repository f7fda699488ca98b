import { useMatches } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useTranslation } from "../i18n/use-translation.tsx";
import { isPagePath, PAGE_HELP } from "./page-help.ts";

/** The title of a page, with a link to the article of the handbook that explains the page. */
export function PageTitle({ children }: { children: ReactNode }) {
  return (
    <div className="page-title">
      <h1>{children}</h1>
      <HelpLink />
    </div>
  );
}

/** In a tab of the browser beside this one: what is typed on the page stays. */
function HelpLink() {
  const { t } = useTranslation();
  const path = useMatches({ select: (matches) => matches.at(-1)?.fullPath ?? "" });
  if (!isPagePath(path)) return null;
  return (
    <a
      className="page-help"
      href={`/help/${PAGE_HELP[path]}`}
      hrefLang="en"
      target="_blank"
      rel="noopener"
      aria-label={t("help.page")}
      title={t("help.page")}
    >
      {t("help.link")}
    </a>
  );
}
