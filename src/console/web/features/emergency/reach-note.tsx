import { useRow } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";

interface Readiness {
  id: string;
  state: "ready" | "untested" | "reduced" | "unreachable";
  problems: string[];
  speakers: number;
  phones: number;
  others: number;
  people: number;
}

/** Whom an emergency would reach now, on its tile; the first problem where there is one. */
export function ReachNote({ id }: { id: string }) {
  const { t } = useTranslation();
  const found = useRow<{ emergencies: Readiness[] }>("emergencies", {}).data?.emergencies.find((one) => one.id === id);
  if (!found) return null;
  if (found.state === "unreachable") return <em className="reach-note">✕ {t("emergency.unreachable")}</em>;
  const parts = [
    found.speakers > 0 && t("emergency.speakers", { count: found.speakers }),
    found.phones > 0 && t("emergency.phones", { count: found.phones }),
    found.others > 0 && t("emergency.others", { count: found.others }),
    found.people > 0 && t("emergency.people", { count: found.people }),
  ].filter((part) => part !== false);
  return (
    <em className="reach-note">
      {parts.join(" · ")}
      {found.state === "reduced" && ` · ! ${t("emergency.reduced")}`}
      {found.state === "untested" && ` · ! ${t("emergency.untested")}`}
    </em>
  );
}
