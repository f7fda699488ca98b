import { Link } from "@tanstack/react-router";
import type { UserRow } from "../../api/rows.ts";
import { usePolling, useRows } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";

const LIMIT = 100;

/** People inside an area, updated live. */
export function PeopleInside({ areaOfInterestId }: { areaOfInterestId: string }) {
  const { t } = useTranslation();
  const users = useRows<UserRow>("users", {}, { areaOfInterestId, limit: LIMIT, sort: "name" });
  usePolling("users");
  const { data } = users;
  return (
    <section className="stack">
      <ErrorLine error={users.error} />
      {data && (
        <p role="status">{data.total === 0 ? t("areas.inside-none") : t("areas.inside-n", { count: data.total })}</p>
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
