import { Button } from "@mantine/core";
import { useTranslation } from "../i18n/use-translation.tsx";
import { CopyField } from "./copy-field.tsx";

/** A secret that is shown once; removed when the user confirms. */
export function OneTimeSecret({ label, value, onKept }: { label: string; value: string; onKept: () => void }) {
  const { t } = useTranslation();
  return (
    <section className="card" aria-live="polite">
      <p>{t("token.once")}</p>
      <CopyField label={label} value={value} />
      <div>
        <Button onClick={onKept}>{t("token.kept")}</Button>
      </div>
    </section>
  );
}
