import { Button, Select, TextInput } from "@mantine/core";
import { useState } from "react";
import type { UserDeviceRow } from "../../api/identity-rows.ts";
import { useRowMutation, useRows } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { fieldErrorText } from "../../i18n/error-text.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { RemoveButton } from "../../ui/remove-button.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { usePendingRemovalIds } from "../../ui/use-removal.ts";
import "../../ui/input-styles.ts";

const RESOURCE = "user-devices";
/** Addresses that people have themselves. Apps register on their own. */
const TYPES = ["email", "SMS", "phone-call"];
const EMPTY = { type: "email", deviceIdentifier: "" };

/** Addresses of the current user: added, and verified with a code. */
export function OwnAddresses({ userId }: { userId: string }) {
  const translator = useTranslation();
  const { t, name } = translator;
  const { client } = useConsole();
  const devices = useRows<UserDeviceRow>("users/{userId}/devices", { userId }, { limit: 1_000 });
  const [draft, setDraft] = useState(EMPTY);
  const add = useRowMutation<void, void>(RESOURCE, async () => {
    await client.post("users/{userId}/devices", { userId }, draft);
    setDraft(EMPTY);
  });
  return (
    <details>
      <summary>{t("own-address.show")}</summary>
      <div className="stack">
        <p className="soft">{t("own-address.hint")}</p>
        <ErrorLine error={devices.error} />
        <ul className="plain lined">
          {devices.data?.data
            .filter(({ type }) => TYPES.includes(type))
            .map((row) => (
              <OwnAddress key={row.id} userId={userId} row={row} />
            ))}
        </ul>
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault();
            add.mutate();
          }}
        >
          <Select
            label={t("person.channel")}
            allowDeselect={false}
            data={TYPES.map((value) => ({ value, label: name("user-device", value) }))}
            value={draft.type}
            error={fieldErrorText(add.error, "type", translator)}
            onChange={(type) => setDraft((old) => ({ ...old, type: type ?? EMPTY.type }))}
          />
          <TextInput
            label={name("user-device-address", draft.type)}
            required
            value={draft.deviceIdentifier}
            error={fieldErrorText(add.error, "deviceIdentifier", translator)}
            onChange={(event) => {
              const { value } = event.currentTarget;
              setDraft((old) => ({ ...old, deviceIdentifier: value }));
            }}
          />
          <ErrorLine error={add.error} />
          <div>
            <Button type="submit" loading={add.isPending} disabled={draft.deviceIdentifier.trim() === ""}>
              {t("own-address.add")}
            </Button>
          </div>
        </form>
      </div>
    </details>
  );
}

function OwnAddress({ userId, row }: { userId: string; row: UserDeviceRow }) {
  const { t, name } = useTranslation();
  const isLeaving = usePendingRemovalIds().has(row.id);
  const address = row.deviceIdentifier ?? row.name ?? name("user-device", row.type);
  return (
    <li className={isLeaving ? "stack leaving" : "stack"}>
      <div className="row">
        <span className="grow">
          <strong>{address}</strong>
          <small className="soft block">{name("user-device", row.type)}</small>
        </span>
        {row.awaitsVerification && <Chip tone="warn">{t("person.unverified")}</Chip>}
        {row.verified && <Chip tone="good">{t("person.verified")}</Chip>}
        {row.permissions.includes("delete") && (
          <RemoveButton
            route="users/{userId}/devices/{deviceId}"
            params={{ userId, deviceId: row.id }}
            id={row.id}
            name={address}
          />
        )}
      </div>
      {row.awaitsVerification && <CodeForm params={{ userId, deviceId: row.id }} address={address} />}
    </li>
  );
}

function CodeForm({ params, address }: { params: { userId: string; deviceId: string }; address: string }) {
  const translator = useTranslation();
  const { t } = translator;
  const { client, notify } = useConsole();
  const [code, setCode] = useState("");
  const send = useRowMutation<void, void>(RESOURCE, async () => {
    await client.post("users/{userId}/devices/{deviceId}/verification-code", params, {});
    notify(t("own-address.code-sent", { address }));
  });
  const verify = useRowMutation<void, void>(RESOURCE, async () => {
    await client.post("users/{userId}/devices/{deviceId}/verification", params, { code });
    notify(t("own-address.verified", { address }));
  });
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        verify.mutate();
      }}
    >
      <TextInput
        label={t("own-address.code", { address })}
        autoComplete="one-time-code"
        inputMode="numeric"
        value={code}
        error={fieldErrorText(verify.error, "code", translator)}
        onChange={(event) => setCode(event.currentTarget.value)}
      />
      <ErrorLine error={send.error ?? verify.error} />
      <div className="row">
        <Button variant="default" loading={send.isPending} onClick={() => send.mutate()}>
          {t("own-address.send-code")}
        </Button>
        <Button type="submit" loading={verify.isPending} disabled={code.trim() === ""}>
          {t("own-address.verify")}
        </Button>
      </div>
    </form>
  );
}
