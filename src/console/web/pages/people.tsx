import type { UserRow } from "../api/rows.ts";
import { ListPage } from "../list/list-page.tsx";
import { Chip } from "../parts/level-chip.tsx";
import { RowSheet } from "../parts/row-sheet.tsx";
import { useWords } from "../words/use-words.tsx";
import { PersonDevices } from "./person-devices.tsx";
import { PersonLists } from "./person-lists.tsx";
import { PersonLock } from "./person-lock.tsx";
import { PersonPassword } from "./person-password.tsx";
import { PersonRights } from "./person-rights.tsx";
import { PersonRoom } from "./person-room.tsx";
import { PersonTokens } from "./person-tokens.tsx";
import "../parts/lines.css";

const KINDS = ["regular", "anonymous", "application", "endpoint", "support"];

/** Who gets what, who may do what. */
export default function PeoplePage() {
  const { t, name } = useWords();
  return (
    <ListPage<UserRow>
      tabs="people"
      title={t("users.title")}
      add={t("users.add")}
      none={t("users.none")}
      route="users"
      opener={{ width: "1.5fr" }}
      columns={[
        { id: "email", head: t("field.email"), width: "1.5fr", sort: "email", cell: (row) => row.email ?? "–" },
        { id: "type", head: t("field.type"), width: "8rem", sort: "type", cell: (row) => name("user-type", row.type) },
        { id: "lists", head: t("users.groups-and-lists"), width: "1.5fr", cell: listsOf },
        {
          id: "state",
          head: t("field.status"),
          width: "8rem",
          cell: (row) => (row.isLocked ? <Chip tone="bad">{t("users.locked")}</Chip> : ""),
        },
      ]}
      sheet={(id, onClose) => <PersonSheet key={id} userId={id} onClose={onClose} />}
    />
  );
}

function PersonSheet({ userId, onClose }: { userId: string; onClose: () => void }) {
  const { t, name } = useWords();
  return (
    <RowSheet
      id={userId}
      item="users/{userId}"
      newTitle={t("users.add")}
      onClose={onClose}
      fields={[
        { name: "name" },
        { name: "email" },
        { name: "type", choices: KINDS.map((value) => ({ value, label: name("user-type", value) })) },
        { name: "idleTimeout", hint: t("users.idle-hint") },
        { name: "passwordResetRequired" },
        { name: "breakGlass" },
      ]}
      tabs={[
        { id: "lists", label: t("lists.title"), content: <PersonLists userId={userId} /> },
        { id: "devices", label: t("person.devices"), content: <PersonDevices userId={userId} /> },
        { id: "tokens", label: t("token.title"), content: <PersonTokens userId={userId} /> },
        { id: "rights", label: t("person.rights"), content: <PersonRights userId={userId} /> },
      ]}
    >
      <PersonRoom userId={userId} />
      <PersonLock userId={userId} />
      <PersonPassword userId={userId} />
    </RowSheet>
  );
}

function listsOf({ subscriptions, securityGroups }: UserRow): string {
  const lists = subscriptions.flatMap(({ distributionList }) => distributionList?.name ?? []);
  return [...securityGroups.map(({ name }) => name), ...lists].join(", ");
}
