import { useEffect } from "react";
import type { SessionRow } from "../../api/rows.ts";
import { useRow, useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { LANGUAGES, type Language } from "../../i18n/languages.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";

const PROFILE = "users/{userId}/profile";
/** Languages that an account can hold. @source resources/people/users.ts, preferredLanguage */
const ACCOUNT_LANGUAGES = ["en-US", "en-GB", "de-DE", "fr-FR", "fr-CA", "es-US", "pt-BR", "ar"] as const;

interface ProfileRow {
  preferredLanguage: string | null;
}

/** Shows the console in the language of the account; one without a language keeps the browser's. */
export function AccountLanguage({ session }: { session: SessionRow }) {
  const { setLanguage } = useTranslation();
  const { data } = useRow<ProfileRow>(PROFILE, { userId: session.userId });
  const preferred = data?.preferredLanguage;
  useEffect(() => {
    const language = LANGUAGES.find((each) => each === primaryTag(preferred));
    if (language) setLanguage(language);
  }, [preferred, setLanguage]);
  return null;
}

/** Changes the language, here at once and in the account, where it can hold it. */
export function useChangeLanguage({ userId }: SessionRow): (language: Language) => void {
  const { t, setLanguage } = useTranslation();
  const { client, notify } = useConsole();
  const saving = useRowMutation("users", (preferredLanguage: string) =>
    client.put(PROFILE, { userId }, { preferredLanguage }),
  );
  return (language) => {
    setLanguage(language);
    const preferred = ACCOUNT_LANGUAGES.find((each) => primaryTag(each) === language);
    if (preferred) saving.mutate(preferred, { onError: () => notify(t("user.language-not-saved")) });
  };
}

function primaryTag(tag: string | null | undefined): string | undefined {
  return tag?.split("-")[0]?.toLowerCase();
}
