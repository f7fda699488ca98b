import { TextInput } from "@mantine/core";
import { useState } from "react";
import type { ActivationGroupRow, DeviceRow, GroupRow } from "../../api/rows.ts";
import { useRows } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { AppliancesField } from "../../ui/form/appliances-field.tsx";
import { deviceCountColumns } from "../../ui/list/device-count-columns.ts";
import { ListPage } from "../../ui/list/list-page.tsx";
import { NEW, RowSheet } from "../../ui/row-sheet.tsx";
import { ActivationPreview } from "./activation-preview.tsx";
import { groupDraftOf } from "./group-definition.ts";
import { GroupFilterRow } from "./group-filter-row.tsx";

/** Which appliance calls which devices, with a preview for one device. */
export default function ActivationGroupsPage() {
  const { t } = useTranslation();
  return (
    <ListPage<ActivationGroupRow>
      tabs="devices"
      title={t("activation.title")}
      add={t("activation.add")}
      none={t("activation.none")}
      route="activation-groups"
      query={{ includeDeviceCounts: true }}
      sort="priority"
      columns={[
        {
          id: "priority",
          head: t("activation.priority"),
          width: "6rem",
          sort: "priority",
          named: true,
          cell: (row) => String(row.priority),
        },
        { id: "order", head: t("field.endpointIds"), width: "2fr", cell: (row) => <Order row={row} /> },
        ...deviceCountColumns(t),
      ]}
      sheet={(id, onClose) => <ActivationSheet key={id} id={id} onClose={onClose} />}
    >
      <ActivationTest />
    </ListPage>
  );
}

function Order({ row }: { row: ActivationGroupRow }) {
  const { t } = useTranslation();
  return (row.endpoints ?? [])
    .map(({ name, reachable }) => (reachable ? (name ?? "–") : `${name ?? "–"} (${t("activation.unreachable")})`))
    .join(", ");
}

/** Asks for one device by a few letters. */
function ActivationTest() {
  const { t } = useTranslation();
  const [text, setText] = useState("");
  const found = useRows<DeviceRow>("devices", {}, { q: text, limit: 1 }, { enabled: text.length > 1 });
  const device = text.length > 1 ? found.data?.data[0] : undefined;
  return (
    <section className="card">
      <TextInput
        label={t("activation.try")}
        description={t("activation.try-hint")}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      {device && (
        <>
          <h2>{device.description}</h2>
          <ActivationPreview deviceId={device.id} />
        </>
      )}
      {text.length > 1 && found.data && !device && <p className="soft">{t("activation.no-device")}</p>}
    </section>
  );
}

function ActivationSheet({ id, onClose }: { id: string; onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <RowSheet
      id={id}
      item="activation-groups/{activationGroupId}"
      newTitle={t("activation.add")}
      onClose={onClose}
      {...(id === NEW ? { initial: { filterType: "OR", filters: [] } } : {})}
      fields={[
        { name: "name" },
        { name: "priority", label: t("activation.priority"), hint: t("activation.priority-hint") },
        {
          name: "endpointIds",
          kind: "own",
          draw: ({ values, change, error }) => (
            <AppliancesField
              name="endpointIds"
              label={t("activation.order")}
              value={values.endpointIds}
              error={error}
              onChange={(endpointIds) => change({ endpointIds })}
            />
          ),
        },
        {
          name: "filters",
          kind: "own",
          draw: ({ values, change }) => (
            <GroupFilterRow draft={groupDraftOf(values as Partial<GroupRow> as GroupRow)} onChange={change} />
          ),
        },
        { name: "additionIds", kind: "lines", hint: t("groups.ids-hint") },
        { name: "exclusionIds", kind: "lines", hint: t("groups.ids-hint") },
      ]}
    />
  );
}
