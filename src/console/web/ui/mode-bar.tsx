import { useTranslation } from "../i18n/use-translation.tsx";
import { SegmentedChoice } from "./segmented-choice.tsx";

/** Live or drill, by text, colour and background. */
export function ModeBar({ drill, onChange }: { drill: boolean; onChange: (drill: boolean) => void }) {
  const { t } = useTranslation();
  return (
    <div className={drill ? "mode drill row" : "mode row"}>
      <SegmentedChoice
        label={t("send.mode")}
        value={drill ? "drill" : "live"}
        onChange={(value) => onChange(value === "drill")}
        choices={[
          { value: "live", label: t("live.word") },
          { value: "drill", label: t("drill.word") },
        ]}
      />
      <span>{drill ? t("send.mode-drill") : t("send.mode-live")}</span>
    </div>
  );
}
