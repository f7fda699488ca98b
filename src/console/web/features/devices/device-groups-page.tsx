import type { GroupRow } from "../../api/rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { deviceCountColumns } from "../../ui/list/device-count-columns.ts";
import { ListPage } from "../../ui/list/list-page.tsx";
import { GroupEditor } from "./group-editor.tsx";

/** Groups of devices. */
export default function DeviceGroupsPage() {
  const { t, name } = useTranslation();
  return (
    <ListPage<GroupRow>
      tabs="devices"
      title={t("groups.title")}
      add={t("groups.add")}
      none={t("groups.none")}
      route="device-groups"
      query={{ includeDeviceCounts: true }}
      columns={[
        { id: "rule", head: t("field.filterType"), width: "1fr", cell: (row) => name("filter-type", row.filterType) },
        ...deviceCountColumns(t),
      ]}
      sheet={(id, onClose) => <GroupEditor key={id} id={id} onClose={onClose} />}
    />
  );
}
