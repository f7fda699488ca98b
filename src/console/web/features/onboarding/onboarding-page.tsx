import { Button, TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { DeviceRow, NotificationRow } from "../../api/rows.ts";
import { useAppliance, useRowMutation, useRows } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { SegmentedChoice } from "../../ui/segmented-choice.tsx";
import { allDevicesGroup } from "../devices/all-devices-group.ts";
import { deviceBody, NEW_DEVICE, type NewDevice } from "../devices/new-device.ts";
import "../../ui/input-styles.ts";
import { PageTitle } from "../../ui/page-title.tsx";

/** From an empty box to the first sound: a zone or a phone, then a test. */
export default function WelcomePage() {
  const { t } = useTranslation();
  const devices = useRows<DeviceRow>("devices", {}, { limit: 1 });
  const total = devices.data?.total ?? 0;
  return (
    <div className="page">
      <PageTitle>{t("welcome.title")}</PageTitle>
      <div className="grid">
        <AddDevice />
        <section className="card">
          <h2>{t("welcome.test")}</h2>
          <p>{t("welcome.test-text", { count: total })}</p>
          <TestButton disabled={total === 0} />
        </section>
      </div>
    </div>
  );
}

function AddDevice() {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const appliance = useAppliance();
  const [device, setDevice] = useState<NewDevice>(NEW_DEVICE);
  const change = (part: Partial<NewDevice>) => setDevice((old) => ({ ...old, ...part }));
  const adding = useRowMutation<void, void>("devices", async () => {
    if (!appliance) return;
    const params = { extensionId: appliance.extensionId, endpointId: appliance.id };
    await client.post("extensions/{extensionId}/endpoints/{endpointId}/devices", params, deviceBody(device));
    notify(t("welcome.added", { name: device.description }));
    setDevice({ ...NEW_DEVICE, kind: device.kind });
  });
  const bind = (name: Exclude<keyof NewDevice, "kind">, hint?: string) => ({
    label: t(`new-device.${name}`),
    description: hint,
    required: true,
    value: device[name],
    onChange: (event: { currentTarget: { value: string } }) => change({ [name]: event.currentTarget.value }),
  });
  return (
    <form
      className="card"
      onSubmit={(event) => {
        event.preventDefault();
        adding.mutate();
      }}
    >
      <h2>{t("welcome.device")}</h2>
      <SegmentedChoice
        label={t("field.type")}
        value={device.kind}
        onChange={(kind) => change({ kind })}
        choices={[
          { value: "zone", label: t("new-device.zone") },
          { value: "phone", label: t("new-device.phone") },
        ]}
      />
      <TextInput {...bind("description")} />
      {device.kind === "zone" ? (
        <>
          <TextInput {...bind("group", t("new-device.group-hint"))} />
          <TextInput {...bind("port")} inputMode="numeric" />
        </>
      ) : (
        <>
          <TextInput {...bind("phoneName", t("new-device.phone-hint"))} />
          <TextInput {...bind("address")} />
        </>
      )}
      <ErrorLine error={adding.error} />
      <div>
        <Button type="submit" loading={adding.isPending} disabled={!appliance}>
          {t("devices.add")}
        </Button>
      </div>
    </form>
  );
}

/** Sends a drill to everything there is, through a group that is made when there is none. */
function TestButton({ disabled }: { disabled: boolean }) {
  const { t } = useTranslation();
  const { client } = useConsole();
  const navigate = useNavigate();
  const sending = useRowMutation<void, NotificationRow>("notifications", async () => {
    const group = await allDevicesGroup(client, t("welcome.all-devices"));
    return client.post(
      "notifications",
      {},
      {
        subject: t("welcome.test-subject"),
        body: t("welcome.test-body"),
        alertTone: "chime",
        drill: true,
        deviceGroupIds: [group.id],
      },
    );
  });
  const send = () =>
    sending.mutate(undefined, {
      onSuccess: ({ id }) => void navigate({ to: "/broadcasts/$notificationId", params: { notificationId: id } }),
    });
  return (
    <>
      <ErrorLine error={sending.error} />
      <div>
        <Button className="drill" color="yellow" disabled={disabled} loading={sending.isPending} onClick={send}>
          {t("welcome.send-test")}
        </Button>
      </div>
    </>
  );
}
