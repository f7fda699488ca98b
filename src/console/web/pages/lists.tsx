import type { ListRow } from "../api/rows.ts";
import { useRows } from "../api/use-rows.ts";
import { ListPage, OpenButton } from "../list/list-page.tsx";
import { RowSheet } from "../parts/row-sheet.tsx";
import { useWords } from "../words/use-words.tsx";

interface Subscription {
  id: string;
  user: { id: string; name: string; email: string | null } | null;
}

/** Lists of people. */
export default function ListsPage() {
  const { t } = useWords();
  return (
    <ListPage<ListRow>
      tabs="people"
      title={t("lists.title")}
      add={t("lists.add")}
      none={t("lists.none")}
      route="distribution-lists"
      columns={(open) => [
        {
          id: "name",
          head: t("field.name"),
          width: "2fr",
          sort: "name",
          cell: (row) => <OpenButton name={row.name} onOpen={() => open(row.id)} />,
        },
        {
          id: "subscribable",
          head: t("field.isSubscribable"),
          width: "1fr",
          cell: (row) => (row.isSubscribable ? t("yes") : t("no")),
        },
      ]}
      sheet={(id, onClose) => (
        <RowSheet
          id={id}
          collection="distribution-lists"
          item="distribution-lists/{distributionListId}"
          newTitle={t("lists.add")}
          onClose={onClose}
          fields={[{ name: "name" }, { name: "isSubscribable" }]}
        >
          <Members distributionListId={id} />
        </RowSheet>
      )}
    />
  );
}

function Members({ distributionListId }: { distributionListId: string }) {
  const { t } = useWords();
  const members = useRows<Subscription>(
    "distribution-lists/{distributionListId}/user-subscriptions",
    { distributionListId },
    { limit: 100 },
  );
  return (
    <section className="stack">
      <h2>{t("lists.members", { n: members.data?.total ?? 0 })}</h2>
      <ul className="plain">
        {members.data?.data.map(({ id, user }) => (
          <li key={id}>{[user?.name, user?.email].filter(Boolean).join(" · ")}</li>
        ))}
      </ul>
    </section>
  );
}
