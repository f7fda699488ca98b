import { Button } from "@mantine/core";
import type { SessionRow } from "../../api/rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { SecondFactors } from "./second-factors.tsx";

/** For users who must set up a second factor before anything else. */
export default function FactorSetupPage({ session }: { session: SessionRow }) {
  const { t } = useTranslation();
  const { client, refreshSession } = useConsole();
  return (
    <main className="alone">
      <div className="card stack">
        <h1>{t("second-factor.required")}</h1>
        <p>{t("second-factor.required-why")}</p>
        <SecondFactors session={session} onSetUp={refreshSession} />
        <Button variant="default" onClick={() => void client.remove("session").finally(refreshSession)}>
          {t("user.log-out")}
        </Button>
      </div>
    </main>
  );
}
