import type { ChatGroupRow } from "../../api/place-rows.ts";
import type { ExtensionRow } from "../../api/rows.ts";
import { useRows } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ListPage } from "../../ui/list/list-page.tsx";
import { NEW, RowSheet } from "../../ui/row-sheet.tsx";

/** Groups, channels and conferences of other systems that messages are brought to. */
export default function ChatGroupsPage() {
  const { t } = useTranslation();
  return (
    <ListPage<ChatGroupRow>
      tabs="people"
      title={t("chat-groups.title")}
      add={t("chat-groups.add")}
      none={t("chat-groups.none")}
      route="collaboration-groups"
      columns={[{ id: "type", head: t("field.type"), width: "1fr", sort: "type", side: true, cell: (row) => row.type }]}
      sheet={(id, onClose) => <ChatGroupSheet key={id} collaborationGroupId={id} onClose={onClose} />}
    />
  );
}

function ChatGroupSheet({ collaborationGroupId, onClose }: { collaborationGroupId: string; onClose: () => void }) {
  const { t } = useTranslation();
  const isNew = collaborationGroupId === NEW;
  const channels = useRows<ExtensionRow>("extensions", {}, { type: "collaboration", limit: 100 });
  const types = [...new Set((channels.data?.data ?? []).flatMap(({ deviceType }) => deviceType ?? []))];
  const hint = channels.data && types.length === 0 ? t("chat-groups.no-type") : t("chat-groups.type-hint");
  return (
    <RowSheet
      id={collaborationGroupId}
      item="collaboration-groups/{collaborationGroupId}"
      newTitle={t("chat-groups.add")}
      onClose={onClose}
      fields={[
        { name: "name" },
        ...(isNew
          ? [{ name: "type", kind: "choice" as const, hint, choices: types.map((value) => ({ value, label: value })) }]
          : []),
        { name: "distributionListIds", kind: "rows", from: "distribution-lists" },
        { name: "userIds", kind: "rows", from: "users" },
        { name: "properties", hint: t("chat-groups.properties-hint") },
        { name: "isShared", hint: t("lists.shared-hint") },
      ]}
    />
  );
}
