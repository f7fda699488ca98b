import { Button } from "@mantine/core";
import { type ReactNode, useState } from "react";
import type { RowPage } from "../../api/client.ts";
import type { RouteFor, RouteParams } from "../../api/routes.ts";
import type { UserRow } from "../../api/rows.ts";
import { useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import type { Column } from "../../ui/list/column.ts";
import { ListTable } from "../../ui/list/list-table.tsx";
import { SearchField } from "../../ui/list/search-field.tsx";
import { AddMembersByEmail } from "./add-members-by-email.tsx";
import "../../ui/lines.css";

/** A set of people, and how to add and remove members. */
export interface Membership<P> {
  /** The resource of the places, such as `subscriptions`. */
  resource: string;
  route: RouteFor<"get">;
  params: RouteParams;
  none: string;
  columns: readonly Column<P & { id: string }>[];
  /** True for somebody who is in it. */
  has(user: UserRow): boolean;
  /** What stands beside somebody found who is in it. */
  place(user: UserRow): ReactNode;
  add(userId: string): Promise<unknown>;
}

/** Most people that one press adds. */
const MAX_ADDED = 1_000;

/** Members of a set; with a search also other people, to be added one by one or all at once. */
export function MemberPanel<P>({ of, children }: { of: Membership<P>; children?: ReactNode }) {
  const { t } = useTranslation();
  const [q, setQ] = useState("");
  const add = useAdding(of);
  return (
    <section className="stack members">
      <SearchField value={q} onSearch={setQ} label={t("members.search")} />
      {children}
      <ErrorLine error={add.error} />
      {q ? (
        <Found of={of} q={q} add={add} />
      ) : (
        <div className="members-table">
          <ListTable<P & { id: string }>
            label={t("members.title")}
            route={of.route}
            params={of.params}
            columns={of.columns}
            empty={<p>{of.none}</p>}
          />
        </div>
      )}
      {!q && <AddMembersByEmail onAdd={(users) => add.run(users)} has={of.has} />}
    </section>
  );
}

interface Adding {
  /** Users added so far and in total; null if none are being added. */
  progress: { done: number; of: number } | null;
  error: unknown;
  run(users: readonly UserRow[]): Promise<void>;
}

function useAdding<P>(of: Membership<P>): Adding {
  const { t } = useTranslation();
  const { notify } = useConsole();
  const [progress, setProgress] = useState<Adding["progress"]>(null);
  const change = useRowMutation(of.resource, async (users: readonly UserRow[]) => {
    try {
      for (const [done, { id }] of users.entries()) {
        setProgress({ done, of: users.length });
        await of.add(id);
      }
    } finally {
      setProgress(null);
    }
    notify(t("members.added", { count: users.length }));
  });
  return { progress, error: change.error, run: (users) => change.mutateAsync(users).catch(() => undefined) };
}

function Found<P>({ of, q, add }: { of: Membership<P>; q: string; add: Adding }) {
  const { t } = useTranslation();
  const { client } = useConsole();
  const [reading, setReading] = useState(false);
  const addAll = async () => {
    setReading(true);
    try {
      const found = await client.get<RowPage<UserRow>>("users", {}, { q, limit: MAX_ADDED });
      await add.run(found.data.filter((user) => !of.has(user)));
    } finally {
      setReading(false);
    }
  };
  const columns: Column<UserRow>[] = [
    { id: "name", head: t("field.name"), width: "1fr", cell: (user) => <MemberName user={user} /> },
    {
      id: "place",
      head: t("field.status"),
      width: "14rem",
      side: true,
      cell: (user) =>
        of.has(user) ? (
          of.place(user)
        ) : (
          <Button
            size="compact-sm"
            aria-label={t("members.add-named", { who: user.name })}
            disabled={add.progress !== null}
            onClick={() => void add.run([user])}
          >
            {t("add")}
          </Button>
        ),
    },
  ];
  return (
    <>
      <div className="row">
        <Button
          variant="default"
          size="compact-md"
          loading={reading && add.progress === null}
          disabled={add.progress !== null}
          onClick={() => void addAll()}
        >
          {t("members.add-all")}
        </Button>
        {add.progress && (
          <span role="status">{t("members.progress", { done: add.progress.done, of: add.progress.of })}</span>
        )}
      </div>
      <div className="members-table">
        <ListTable<UserRow>
          label={t("members.found")}
          route="users"
          query={{ q }}
          sort="name"
          columns={columns}
          empty={<p>{t("search.none")}</p>}
        />
      </div>
    </>
  );
}

/** Name and address of a person. */
export function MemberName({ user }: { user: { name: string; email?: string | null } | null | undefined }) {
  return (
    <span title={[user?.name, user?.email].filter(Boolean).join(" · ")}>
      <strong>{user?.name ?? "–"}</strong> <span className="soft">{user?.email}</span>
    </span>
  );
}

interface OutButtonProps {
  /** The resource of the places. */
  resource: string;
  who: string;
  leave(): Promise<unknown>;
  back(): Promise<unknown>;
}

/** Removes a member; can be undone. */
export function RemoveMemberButton({ resource, who, leave, back }: OutButtonProps) {
  const { t } = useTranslation();
  const { notify } = useConsole();
  const coming = useRowMutation<void, unknown>(resource, back);
  const leaving = useRowMutation<void, void>(resource, async () => {
    await leave();
    notify(t("removed"), () => coming.mutate());
  });
  return (
    <>
      <Button
        variant="default"
        size="compact-sm"
        loading={leaving.isPending}
        aria-label={t("lists.remove-named", { who })}
        onClick={() => leaving.mutate()}
      >
        {t("remove")}
      </Button>
      <ErrorLine error={leaving.error ?? coming.error} />
    </>
  );
}
