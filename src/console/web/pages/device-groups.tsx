import type { GroupRow } from "../api/rows.ts";
import { deviceCountColumns } from "../list/device-count-columns.ts";
import { ListPage } from "../list/list-page.tsx";
import { useWords } from "../words/use-words.tsx";
import { GroupEditor } from "./group-editor.tsx";

/** Groups of devices. */
export default function DeviceGroupsPage() {
  const { t, name } = useWords();
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
