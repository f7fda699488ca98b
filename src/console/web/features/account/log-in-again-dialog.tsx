import { Button } from "@mantine/core";
import { useEffect, useMemo, useRef } from "react";
import type { SessionRow } from "../../api/rows.ts";
import { ConsoleProvider, useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { LogInForm } from "./log-in-page.tsx";

interface LogInAgainProps {
  /** Whose session has expired. */
  user: SessionRow;
  /** Somebody has logged in, here or in another window of the browser. */
  onLoggedIn(): Promise<void>;
  /** The page is given up. */
  onLeave(): void;
}

/** Log-in over the page of an expired session: what was typed stays there, and cannot be read until the log-in. */
export default function LogInAgainDialog({ user, onLoggedIn, onLeave }: LogInAgainProps) {
  const { t } = useTranslation();
  const console = useConsole();
  const { client } = console;
  const resume = useRef(onLoggedIn);
  resume.current = onLoggedIn;
  const inDialog = useMemo(() => ({ ...console, refreshSession: () => void resume.current() }), [console]);
  useEffect(() => {
    // The identity provider logs in within another window.
    const look = async (): Promise<void> => {
      const { loggedIn } = await client.setup().catch(() => ({ loggedIn: false }));
      if (loggedIn) await resume.current();
    };
    const onFocus = () => void look();
    addEventListener("focus", onFocus);
    return () => removeEventListener("focus", onFocus);
  }, [client]);
  return (
    <Dialog className="log-in-again" title={t("log-in-again.title")}>
      <ConsoleProvider value={inDialog}>
        <div className="stack">
          <LogInForm keepsPage login={user.email ?? ""} head={<p>{t("log-in-again.intro", { name: user.name })}</p>} />
          <Button variant="subtle" onClick={onLeave}>
            {t("log-in-again.leave")}
          </Button>
        </div>
      </ConsoleProvider>
    </Dialog>
  );
}
