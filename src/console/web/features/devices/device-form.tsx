import { TextInput } from "@mantine/core";
import type { DeviceRow, Named } from "../../api/rows.ts";
import { useRowMutation, useSchemas } from "../../api/use-rows.ts";
import { useVersionedChange, useVersionedRow } from "../../api/versioned-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { fieldErrorText } from "../../i18n/error-text.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { Form } from "../../ui/form/form.tsx";
import { type CustomFieldProps, type FieldOverrides, formFields } from "../../ui/form/form-fields.ts";
import { useDraftPlace } from "../../ui/form/use-draft-place.ts";
import { RoomCard } from "../../ui/room-card.tsx";
import { useRemoval } from "../../ui/use-removal.ts";
import "../../ui/input-styles.ts";

const ITEM = "extensions/{extensionId}/endpoints/{endpointId}/devices/{deviceId}";

/** What people set of a device by hand, by its kind; the rest comes from the device or its call manager. */
const SET_BY_HAND: Readonly<Record<string, readonly string[]>> = {
  phones: ["IPAddress", "HttpPort", "Location"],
  speakers: ["Group", "Port", "Codec", "TTL", "Location"],
  idns: ["Url", "Template", "Location"],
  plugins: ["Url", "Template", "Location"],
};

/** Name, address and removal of a device. */
export function DeviceForm({ device, onClose }: { device: DeviceRow; onClose: () => void }) {
  const { t } = useTranslation();
  const { notify } = useConsole();
  const schemas = useSchemas();
  const removeSoon = useRemoval(ITEM);
  const params = { extensionId: device.extensionId, endpointId: device.endpointId, deviceId: device.id };
  const { data: read, error } = useVersionedRow<DeviceRow & { zone?: Named | null }>(ITEM, params);
  const row = read?.row;
  const draft = useDraftPlace(`${ITEM} ${device.id}`, schemas.data?.resources.devices?.schema);
  const change = useVersionedChange();
  const saving = useRowMutation<Record<string, unknown>, void>("devices", async (changed) => {
    await change(ITEM, params, changed, read && { ...read, row: { ...read.row } });
    notify(t("saved"));
  });
  if (!row || !schemas.data) return <ErrorLine error={error ?? schemas.error} />;
  const fields: FieldOverrides[] = [
    { name: "description" },
    { name: "attributes", kind: "own", draw: (given) => <DeviceAttributes {...given} type={row.type} /> },
    { name: "defunct", label: t("device.defunct"), hint: t("device.defunct-hint") },
  ];
  const remove = (): void => {
    void removeSoon({ id: row.id, name: row.description, params });
    onClose();
  };
  const may = (verb: "put" | "delete"): boolean => row.permissions.includes(verb);
  return (
    <>
      <RoomCard
        zone={row.zone ?? null}
        canChange={may("put")}
        isSaving={saving.isPending}
        error={saving.error}
        onChange={(zoneId) => saving.mutate({ zoneId })}
      />
      <Form
        fields={may("put") ? formFields(schemas.data.resources.devices?.schema, fields) : []}
        before={{ ...row }}
        draft={draft}
        pending={saving.isPending}
        error={saving.error}
        onSave={(changed) => saving.mutate(changed)}
        onRemove={may("delete") ? remove : undefined}
      />
    </>
  );
}

function DeviceAttributes({ values, change, error, type }: CustomFieldProps & { type: string }) {
  const translator = useTranslation();
  const attributes = values.attributes as Readonly<Record<string, string>>;
  return (SET_BY_HAND[type] ?? []).map((name) => (
    <TextInput
      key={name}
      label={translator.name("device-attribute", name)}
      value={attributes[name] ?? ""}
      error={fieldErrorText(error, `attributes.${name}`, translator)}
      onChange={(event) => change({ attributes: withText(attributes, name, event.currentTarget.value) })}
    />
  ));
}

/** An attribute without a text is none. */
function withText(attributes: Readonly<Record<string, string>>, name: string, text: string): Record<string, string> {
  const { [name]: _, ...others } = attributes;
  return text === "" ? others : { ...attributes, [name]: text };
}
