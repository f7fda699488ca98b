import { Button, useMantineColorScheme } from "@mantine/core";
import type { SessionRow } from "../../api/rows.ts";
import { useConsole } from "../../console-context.tsx";
import { LANGUAGES, languageName } from "../../i18n/languages.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { SegmentedChoice } from "../../ui/segmented-choice.tsx";
import { useChangeLanguage } from "./account-language.ts";
import { OwnAddresses } from "./own-addresses.tsx";
import { OwnPassword } from "./own-password.tsx";
import { SecondFactors } from "./second-factors.tsx";

const COLOR_SCHEMES = ["auto", "light", "dark"] as const;

/** The account of the current user: language, theme, addresses, password, second factor and log-out. */
export default function AccountSheet({ session, onClose }: { session: SessionRow; onClose: () => void }) {
  const { t, name, language } = useTranslation();
  const changeLanguage = useChangeLanguage(session);
  const { client, refreshSession } = useConsole();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const logOut = () =>
    void client.remove("session").finally(() => {
      if (session.logOutPath) location.assign(session.logOutPath);
      else refreshSession();
    });
  return (
    <Dialog title={session.name} onClose={onClose}>
      <div className="stack">
        <p className="soft">{session.email}</p>
        <h3>{t("user.language")}</h3>
        <SegmentedChoice
          label={t("user.language")}
          value={language}
          choices={LANGUAGES.map((value) => ({ value, label: languageName(value) }))}
          onChange={changeLanguage}
        />
        <h3>{t("user.look")}</h3>
        <SegmentedChoice
          label={t("user.look")}
          value={colorScheme}
          choices={COLOR_SCHEMES.map((value) => ({ value, label: name("theme", value) }))}
          onChange={setColorScheme}
        />
        <h3>{t("own-address.title")}</h3>
        <OwnAddresses userId={session.userId} />
        <h3>{t("user.password")}</h3>
        <OwnPassword session={session} />
        <h3>{t("second-factor.title")}</h3>
        <SecondFactors session={session} />
        <div>
          <Button onClick={logOut}>{t("user.log-out")}</Button>
        </div>
      </div>
    </Dialog>
  );
}
