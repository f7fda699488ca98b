import { Button, Select, Switch, TextInput } from "@mantine/core";
import { useState } from "react";
import type { Invitation, UserDeviceRow } from "../../api/identity-rows.ts";
import type { ExtensionRow } from "../../api/rows.ts";
import { useRowMutation, useRows } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { fieldErrorText } from "../../i18n/error-text.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { CopyField } from "../../ui/copy-field.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { RemoveButton } from "../../ui/remove-button.tsx";
import { SentenceText } from "../../ui/sentence-text.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { usePendingRemovalIds } from "../../ui/use-removal.ts";
import "../../ui/input-styles.ts";

/** Channels known without an extension. @source docs/decisions/0005-users-and-devices.md */
const TYPES = ["email", "SMS", "phone-call", "Android", "apns", "web-push", "desktop"];

/** The ways to reach a person: added, switched off and on, removed. */
export function PersonDevices({ userId }: { userId: string }) {
  const { t } = useTranslation();
  const devices = useRows<UserDeviceRow>("users/{userId}/devices", { userId }, { limit: 1_000 });
  return (
    <div className="stack">
      <ErrorLine error={devices.error} />
      {devices.data?.total === 0 && <p className="soft">{t("person.no-devices")}</p>}
      <ul className="plain lined">
        {devices.data?.data.map((row) => (
          <DeviceLine key={row.id} userId={userId} row={row} />
        ))}
      </ul>
      <InvitePerson userId={userId} />
      <NewDevice userId={userId} />
    </div>
  );
}

function DeviceLine({ userId, row }: { userId: string; row: UserDeviceRow }) {
  const { t, name } = useTranslation();
  const { client } = useConsole();
  const params = { userId, deviceId: row.id };
  const change = useRowMutation("user-devices", async (disabled: boolean) => {
    await client.put("users/{userId}/devices/{deviceId}", params, { disabled });
  });
  const isLeaving = usePendingRemovalIds().has(row.id);
  return (
    <li className={isLeaving ? "row leaving" : "row"}>
      <span className="grow">
        <strong>{row.name ?? name("user-device", row.type)}</strong>
        <small className="soft block">
          {[row.name ? name("user-device", row.type) : null, row.deviceIdentifier].filter(Boolean).join(" · ")}
        </small>
        {row.awaitsVerification && <small className="block">{t("person.awaits-code")}</small>}
        {row.disabledReason && (
          <small className="block">
            <SentenceText text={row.disabledReason} sentence={row.disabledReasonSentence} />
          </small>
        )}
      </span>
      <Chip tone={row.verified ? "good" : ""}>{t(row.verified ? "person.verified" : "person.unverified")}</Chip>
      <Switch
        label={t("person.device-on")}
        aria-label={t("person.device-on-named", { name: row.name ?? row.deviceIdentifier ?? row.type })}
        checked={!row.disabled}
        disabled={change.isPending || !row.permissions.includes("put")}
        onChange={(event) => change.mutate(!event.currentTarget.checked)}
      />
      {row.permissions.includes("delete") && (
        <RemoveButton
          route="users/{userId}/devices/{deviceId}"
          params={params}
          id={row.id}
          name={row.name ?? row.deviceIdentifier ?? name("user-device", row.type)}
        />
      )}
      <ErrorLine error={change.error} />
    </li>
  );
}

function InvitePerson({ userId }: { userId: string }) {
  const { t, dates } = useTranslation();
  const { client } = useConsole();
  const invite = useRowMutation<void, Invitation>("user-tokens", () =>
    client.post<Invitation>("users/{userId}/invitations", { userId }, {}),
  );
  const made = invite.data;
  if (!made) {
    return (
      <section className="card">
        <p className="soft">{t("person.invite-hint")}</p>
        <ErrorLine error={invite.error} />
        <div>
          <Button variant="default" loading={invite.isPending} onClick={() => invite.mutate()}>
            {t("person.invite")}
          </Button>
        </div>
      </section>
    );
  }
  return (
    <section className="card" aria-live="polite">
      <h3>{t("person.invited", { when: dates.full(Date.parse(made.expires)) })}</h3>
      <p>{t("person.invite-once", { place: `${new URL(made.url).origin}/inbox/` })}</p>
      <CopyField label={t("person.invite-link")} value={made.url} />
      <CopyField label={t("person.invite-code")} value={made.code} />
      <div>
        <Button onClick={() => invite.reset()}>{t("token.kept")}</Button>
      </div>
    </section>
  );
}

const EMPTY = { type: "email", name: "", deviceIdentifier: "" };

function NewDevice({ userId }: { userId: string }) {
  const translator = useTranslation();
  const { t, name } = translator;
  const { client, notify } = useConsole();
  const [draft, setDraft] = useState(EMPTY);
  const served = useRows<ExtensionRow & { deviceType: string | null }>(
    "extensions",
    {},
    { type: "device", limit: 100 },
  );
  const types = new Set([...TYPES, ...(served.data?.data.flatMap(({ deviceType }) => deviceType ?? []) ?? [])]);
  const add = useRowMutation<void, void>("user-devices", async () => {
    const body = { ...draft, name: draft.name.trim() || null };
    await client.post("users/{userId}/devices", { userId }, body);
    setDraft(EMPTY);
    notify(t("person.device-added"));
  });
  const put = (part: Partial<typeof EMPTY>) => setDraft((old) => ({ ...old, ...part }));
  const label = name("user-device-address", draft.type);
  return (
    <form
      className="card"
      onSubmit={(event) => {
        event.preventDefault();
        add.mutate();
      }}
    >
      <h3>{t("person.add-device")}</h3>
      <Select
        label={t("person.channel")}
        allowDeselect={false}
        data={[...types].map((value) => ({ value, label: name("user-device", value) }))}
        value={draft.type}
        error={fieldErrorText(add.error, "type", translator)}
        onChange={(type) => put({ type: type ?? "email" })}
      />
      <TextInput
        label={label === draft.type ? t("person.address") : label}
        required
        value={draft.deviceIdentifier}
        error={fieldErrorText(add.error, "deviceIdentifier", translator)}
        onChange={(event) => put({ deviceIdentifier: event.currentTarget.value })}
      />
      <TextInput
        label={t("person.device-name")}
        value={draft.name}
        error={fieldErrorText(add.error, "name", translator)}
        onChange={(event) => put({ name: event.currentTarget.value })}
      />
      <ErrorLine error={add.error} />
      <div>
        <Button type="submit" loading={add.isPending} disabled={draft.deviceIdentifier.trim() === ""}>
          {t("person.add-device")}
        </Button>
      </div>
    </form>
  );
}
