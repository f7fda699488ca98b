import { lazy, Suspense, useEffect, useState } from "react";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { useEmergencyScenarios, useEmergencyTemplates } from "./emergency-templates.ts";
import "./emergency.css";

const loadSheet = () => import("./emergency-sheet.tsx");
const EmergencySheet = lazy(loadSheet);

/** Opens the emergency sheet; at the same place on every page. */
export function EmergencyButton() {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  useEmergencyTemplates();
  useEmergencyScenarios();
  useEffect(() => void loadSheet(), []);
  return (
    <>
      <button type="button" className="emergency" aria-label={t("emergency.open")} onClick={() => setOpen(true)}>
        <svg width="20" height="20" viewBox="0 0 24 24" aria-hidden="true">
          <path
            d="M12 3l10 18H2zM12 10v5M12 18v0.500"
            fill="none"
            stroke="currentColor"
            strokeWidth="2.2"
            strokeLinejoin="round"
            strokeLinecap="round"
          />
        </svg>
        {t("emergency")}
      </button>
      <Suspense>{open && <EmergencySheet onClose={() => setOpen(false)} />}</Suspense>
    </>
  );
}
