import { Link } from "@tanstack/react-router";
import type { UserRow } from "../../api/rows.ts";
import { useFollowing, useRows } from "../../api/use-rows.ts";
import { useWords } from "../../i18n/use-translation.tsx";
import { FaultLine } from "../../ui/error-line.tsx";

const MOST = 100;

/** Who is inside an area now; it follows by itself. */
export function InsideNow({ areaOfInterestId }: { areaOfInterestId: string }) {
  const { t } = useWords();
  const users = useRows<UserRow>("users", {}, { areaOfInterestId, limit: MOST, sort: "name" });
  useFollowing("users");
  const { data } = users;
  return (
    <section className="stack">
      <FaultLine error={users.error} />
      {data && (
        <p role="status">{data.total === 0 ? t("areas.inside-none") : t("areas.inside-n", { n: data.total })}</p>
      )}
      <p className="soft">{t("areas.inside-hint")}</p>
      <ul className="plain lined">
        {data?.data.map((user) => (
          <li key={user.id} className="row">
            <Link to="/people" search={{ open: user.id }}>
              {user.name}
            </Link>
            <span className="soft">{user.email}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
