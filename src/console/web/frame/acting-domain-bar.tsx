import type { ActingDomains } from "../api/security-rows.ts";
import { useRow } from "../api/use-rows.ts";
import { useConsole } from "../console-context.tsx";
import { useTranslation } from "../i18n/use-translation.tsx";
import "./acting-domain.css";

/** Shows the acting domain and switches it; nothing if there is only one. */
export function ActingDomainBar() {
  const { t } = useTranslation();
  const { acting, notify } = useConsole();
  const { data } = useRow<ActingDomains>("session/domains");
  if (!data || data.data.length < 2) return null;
  const now = data.data.find(({ id }) => id === data.actingDomainId);
  return (
    <label className="acting" title={now?.namePath}>
      <span className="acting-word">{t("domain.acting")}</span>
      <select
        value={data.actingDomainId ?? ""}
        onChange={(event) => {
          const next = data.data.find(({ id }) => id === event.currentTarget.value);
          if (!next) return;
          acting.actIn(next.id);
          notify(t("domain.acting-now", { name: next.name }));
        }}
      >
        {data.data.map(({ id, name, namePath }) => (
          <option key={id} value={id}>
            {`${"\u2003".repeat(depthOf(namePath, data.data))}${name}`}
          </option>
        ))}
      </select>
    </label>
  );
}

/** How many of the domains that are offered lie above one. */
function depthOf(namePath: string, all: readonly { namePath: string }[]): number {
  return all.filter((each) => namePath.startsWith(`${each.namePath}/`)).length;
}
