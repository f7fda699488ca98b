import type { OptOutRow } from "../../api/rows.ts";
import { useRows } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { RemoveButton } from "../../ui/remove-button.tsx";

const SHOWN = 100;

/** People who have opted out of a template, each with a way to resubscribe; nothing for none. */
export function OptOuts({ messageTemplateId }: { messageTemplateId: string }) {
  const { t } = useTranslation();
  const query = { limit: SHOWN, sort: "-createdAt" };
  const declined = useRows<OptOutRow>("message-templates/{messageTemplateId}/opt-outs", { messageTemplateId }, query);
  const { total = 0, data: rows = [] } = declined.data ?? {};
  return (
    <>
      <ErrorLine error={declined.error} />
      {total > 0 && (
        <section className="stack" aria-label={t("templates.declined", { count: total })}>
          <h3>{t("templates.declined", { count: total })}</h3>
          <ul className="plain lined">
            {rows.map(({ id, user, permissions }) => (
              <li key={id} className="row">
                <strong className="grow">{user?.name ?? "–"}</strong>
                {permissions.includes("delete") && (
                  <RemoveButton
                    route="message-templates/{messageTemplateId}/opt-outs/{optOutId}"
                    params={{ messageTemplateId, optOutId: id }}
                    id={id}
                    name={user?.name ?? ""}
                    label={t("templates.take-back")}
                  />
                )}
              </li>
            ))}
          </ul>
          {total > rows.length && (
            <p className="soft">{t("templates.declined-more", { count: total - rows.length })}</p>
          )}
        </section>
      )}
    </>
  );
}
