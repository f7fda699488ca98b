import { Button, Textarea } from "@mantine/core";
import { useState } from "react";
import type { ApiClient, RowPage } from "../../api/client.ts";
import type { UserRow } from "../../api/rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { parseEmailAddresses } from "./email-addresses.ts";
import "../../ui/input-styles.ts";

interface MembersByAddressProps {
  has(user: UserRow): boolean;
  onAdd(users: readonly UserRow[]): Promise<void>;
}

/** Adds people by a pasted list of e-mail addresses; reports unknown ones. */
export function AddMembersByEmail({ has, onAdd }: MembersByAddressProps) {
  const { t } = useTranslation();
  const { client } = useConsole();
  const [text, setText] = useState("");
  const [unknown, setUnknown] = useState<readonly string[]>([]);
  const [state, setState] = useState<{ pending: boolean; error: unknown }>({ pending: false, error: null });
  const addresses = parseEmailAddresses(text);
  const add = async () => {
    setState({ pending: true, error: null });
    try {
      const found = await Promise.all(
        addresses.map(async (email) => ({
          email,
          user: (await userAt(client, email)) ?? (await userAt(client, email.toLowerCase())),
        })),
      );
      await onAdd(found.flatMap(({ user }) => (user && !has(user) ? [user] : [])));
      const missing = found.filter(({ user }) => user === null).map(({ email }) => email);
      setUnknown(missing);
      setText(missing.join("\n"));
      setState({ pending: false, error: null });
    } catch (error) {
      setState({ pending: false, error });
    }
  };
  return (
    <details>
      <summary>{t("members.by-address")}</summary>
      <div className="stack">
        <Textarea
          label={t("members.addresses")}
          description={t("members.addresses-hint")}
          autosize
          minRows={3}
          maxRows={10}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        {unknown.length > 0 && (
          <p className="fault" role="alert">
            {t("members.unknown", { count: unknown.length })}
          </p>
        )}
        <ErrorLine error={state.error} />
        <div>
          <Button disabled={addresses.length === 0} loading={state.pending} onClick={() => void add()}>
            {t("members.add-n", { count: addresses.length })}
          </Button>
        </div>
      </div>
    </details>
  );
}

/** User with this e-mail address; null if there is none. */
async function userAt(client: ApiClient, email: string): Promise<UserRow | null> {
  const { data } = await client.get<RowPage<UserRow>>("users", {}, { email, limit: 1 });
  return data[0] ?? null;
}
