import type { UserRow } from "../../api/rows.ts";
import { useConsole } from "../../console-context.tsx";
import { errorText } from "../../i18n/error-text.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import type { FieldOverrides, FormValues } from "../../ui/form/form-fields.ts";
import { ListPage } from "../../ui/list/list-page.tsx";
import { useTableSearch } from "../../ui/list/use-table-search.ts";
import { NEW, RowSheet } from "../../ui/row-sheet.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { PersonDevices } from "./person-devices.tsx";
import { PersonLists } from "./person-lists.tsx";
import { PersonLock } from "./person-lock.tsx";
import { FirstPassword, PersonPassword } from "./person-password.tsx";
import { PersonPermissions } from "./person-permissions.tsx";
import { PersonRoom } from "./person-room.tsx";
import { PersonTokens } from "./person-tokens.tsx";
import "../../ui/lines.css";

const KINDS = ["regular", "anonymous", "application", "endpoint", "support"];

/** People with their lists, contact methods and permissions. */
export default function PeoplePage() {
  const { t, name } = useTranslation();
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

/** Of a new account that somebody logs in with. */
const FIRST_PASSWORD: FieldOverrides = {
  name: "password",
  kind: "own",
  draw: (given) => <FirstPassword key="password" {...given} />,
  shown: isRegular,
};

function isRegular({ type }: FormValues): boolean {
  return (type ?? "regular") === "regular";
}

/** People whom a roster or a directory brought without an address stay as they are. */
function needsEmail(values: FormValues, before: FormValues): boolean {
  const isStoredWithout = before.id !== undefined && isRegular(before) && (before.email ?? "") === "";
  return isRegular(values) && !isStoredWithout;
}

function PersonSheet({ userId, onClose }: { userId: string; onClose: () => void }) {
  const translator = useTranslation();
  const { t, name } = translator;
  const { client, notify } = useConsole();
  const [, show] = useTableSearch();
  const withPassword = async (id: string, { password }: FormValues): Promise<void> => {
    const given = { password: String(password ?? "") };
    if (given.password !== "") {
      // The account is there: what its password lacks is mended where it is set, below.
      await client.put("users/{userId}/password", { userId: id }, given).catch((e) => notify(errorText(e, translator)));
    }
    show({ open: id });
  };
  return (
    <RowSheet
      id={userId}
      item="users/{userId}"
      newTitle={t("users.add")}
      after={{ fields: ["password"], made: withPassword }}
      onClose={onClose}
      fields={[
        { name: "name" },
        { name: "email", hint: t("users.email-hint"), requiredWhen: needsEmail },
        { name: "type", choices: KINDS.map((value) => ({ value, label: name("user-type", value) })) },
        ...(userId === NEW ? [FIRST_PASSWORD] : []),
        { name: "idleTimeout", hint: t("users.idle-hint") },
        { name: "passwordResetRequired" },
        { name: "breakGlass" },
      ]}
      tabs={[
        { id: "lists", label: t("lists.title"), content: <PersonLists userId={userId} /> },
        { id: "devices", label: t("person.devices"), content: <PersonDevices userId={userId} /> },
        { id: "tokens", label: t("token.title"), content: <PersonTokens userId={userId} /> },
        { id: "rights", label: t("person.rights"), content: <PersonPermissions userId={userId} /> },
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
