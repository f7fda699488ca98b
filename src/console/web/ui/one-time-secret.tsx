import { Button } from "@mantine/core";
import { useTranslation } from "../i18n/use-translation.tsx";
import { CopyField } from "./copy-field.tsx";

/** A secret that Carillon tells once; gone from the page when somebody says that it is kept. */
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
