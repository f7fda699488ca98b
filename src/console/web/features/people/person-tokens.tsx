import { Button, Checkbox, TextInput } from "@mantine/core";
import { useState } from "react";
import type { UserTokenRow } from "../../api/identity-rows.ts";
import { useRowMutation, useRows } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { fieldErrorText } from "../../i18n/error-text.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ConfirmButton } from "../../ui/confirm-button.tsx";
import { CopyField } from "../../ui/copy-field.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { endOfDay } from "../../ui/local-time.ts";
import { RemoveButton } from "../../ui/remove-button.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import { usePendingRemovalIds } from "../../ui/use-removal.ts";
import "../../ui/input-styles.ts";

/** What acts in a person's name: tokens made here and for programs, and the sessions of the console. */
export function PersonTokens({ userId }: { userId: string }) {
  const { t } = useTranslation();
  const tokens = useRows<UserTokenRow>("users/{userId}/tokens", { userId }, { limit: 1_000, sort: "-createdAt" });
  return (
    <div className="stack">
      <NewToken userId={userId} />
      <RevokeAll userId={userId} />
      <ErrorLine error={tokens.error} />
      {tokens.data?.total === 0 && <p className="soft">{t("token.none")}</p>}
      <ul className="plain lined">
        {tokens.data?.data.map((row) => (
          <TokenLine key={row.id} userId={userId} row={row} />
        ))}
      </ul>
    </div>
  );
}

function TokenLine({ userId, row }: { userId: string; row: UserTokenRow }) {
  const { t } = useTranslation();
  const { clock } = useConsole();
  const isLeaving = usePendingRemovalIds().has(row.id);
  const isOver = row.expires !== null && Date.parse(row.expires) <= clock.now();
  return (
    <li className={isLeaving ? "row leaving" : "row"}>
      <span className="grow">
        <strong>{row.name}</strong>
        <small className="soft block">
          {t("token.made")} <Timestamp at={row.createdAt} />
          {row.expires && " · "}
          {row.expires && (
            <>
              {t(isOver ? "token.ended" : "token.ends")} <Timestamp at={row.expires} />
            </>
          )}
          {row.scope && ` · ${row.scope}`}
          {row.addresses.length > 0 && ` · ${t("token.only-from", { addresses: row.addresses.join(", ") })}`}
          {" · "}
          {row.lastUsedAt ? (
            <>
              {t("token.last-used")} <Timestamp at={row.lastUsedAt} />
              {row.lastUsedAddress && ` ${t("token.from", { address: row.lastUsedAddress })}`}
            </>
          ) : (
            t("token.never-used")
          )}
        </small>
      </span>
      {row.expires === null && <Chip tone="warn">{t("token.endless")}</Chip>}
      {isOver && <Chip tone="warn">{t("token.over")}</Chip>}
      {row.permissions.includes("delete") && (
        <RemoveButton
          route="users/{userId}/tokens/{tokenId}"
          params={{ userId, tokenId: row.id }}
          id={row.id}
          name={row.name}
          label={t("token.revoke")}
        />
      )}
    </li>
  );
}

/** Ends all access of an account in one act. */
function RevokeAll({ userId }: { userId: string }) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const revoke = useRowMutation<void, void>("user-tokens", async () => {
    await client.post("users/{userId}/access-revocation", { userId }, {});
    notify(t("token.all-revoked"));
  });
  return (
    <ConfirmButton
      word={t("token.revoke-all")}
      words={t("token.revoke-all-effect")}
      pending={revoke.isPending}
      error={revoke.error}
      onSure={() => revoke.mutate()}
    />
  );
}

function NewToken({ userId }: { userId: string }) {
  const translator = useTranslation();
  const { t } = translator;
  const { client } = useConsole();
  const [name, setName] = useState("");
  const [day, setDay] = useState("");
  const [isEndless, setEndless] = useState(false);
  const [addresses, setAddresses] = useState("");
  const make = useRowMutation<void, UserTokenRow>("user-tokens", async () => {
    // Without `expires` the token ends after the time in the settings.
    const expires = isEndless ? { expires: null } : day === "" ? {} : { expires: endOfDay(day) };
    const given = { name, ...expires, addresses: addresses.split(/[\s,;]+/).filter((each) => each !== "") };
    const made = await client.post<UserTokenRow>("users/{userId}/tokens", { userId }, given);
    setName("");
    setDay("");
    setEndless(false);
    setAddresses("");
    return made;
  });
  const value = make.data?.token;
  if (value) {
    return (
      <section className="card" aria-live="polite">
        <h3>{t("token.new", { name: make.data?.name ?? "" })}</h3>
        <p>{t("token.once")}</p>
        <CopyField label={t("token.value")} value={value} />
        <div>
          <Button onClick={() => make.reset()}>{t("token.kept")}</Button>
        </div>
      </section>
    );
  }
  return (
    <form
      className="card"
      onSubmit={(event) => {
        event.preventDefault();
        make.mutate();
      }}
    >
      <h3>{t("token.make")}</h3>
      <TextInput
        label={t("field.name")}
        description={t("token.name-hint")}
        required
        maxLength={140}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <TextInput
        label={t("token.last-day")}
        description={t("token.last-day-hint")}
        type="date"
        disabled={isEndless}
        value={day}
        onChange={(event) => setDay(event.currentTarget.value)}
      />
      <Checkbox
        label={t("token.make-endless")}
        checked={isEndless}
        onChange={(event) => setEndless(event.currentTarget.checked)}
      />
      <TextInput
        label={t("token.addresses")}
        description={t("token.addresses-hint")}
        error={fieldErrorText(make.error, "addresses", translator)}
        value={addresses}
        onChange={(event) => setAddresses(event.currentTarget.value)}
      />
      <ErrorLine error={make.error} />
      <div>
        <Button type="submit" loading={make.isPending} disabled={name.trim() === ""}>
          {t("token.make")}
        </Button>
      </div>
    </form>
  );
}
