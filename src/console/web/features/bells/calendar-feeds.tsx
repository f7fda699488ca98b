import { Button, TextInput } from "@mantine/core";
import { useState } from "react";
import type { CalendarFeedRow } from "../../api/bell-rows.ts";
import { useRowMutation, useRows } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { OneTimeSecret } from "../../ui/one-time-secret.tsx";
import { RemoveButton } from "../../ui/remove-button.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import { usePendingRemovalIds } from "../../ui/use-removal.ts";

const ROUTE = "bell-schedules/{bellScheduleId}/feeds";

/** The addresses at which calendar programs follow a schedule; a new one is shown once. */
export function CalendarFeeds({ bellScheduleId }: { bellScheduleId: string }) {
  const { t } = useTranslation();
  const { client } = useConsole();
  const gone = usePendingRemovalIds();
  const [name, setName] = useState("");
  const found = useRows<CalendarFeedRow>(ROUTE, { bellScheduleId }, { limit: 100 });
  const make = useRowMutation<string, CalendarFeedRow>("bell-schedule-feeds", (who) =>
    client.post<CalendarFeedRow>(ROUTE, { bellScheduleId }, { name: who }),
  );
  const feeds = (found.data?.data ?? []).filter(({ id }) => !gone.has(id));
  return (
    <section className="stack" aria-label={t("calendar.out")}>
      <h3>{t("calendar.out")}</h3>
      <p className="soft">{t("calendar.intro")}</p>
      <ErrorLine error={found.error} />
      <ul className="plain lined">
        {feeds.map((row) => (
          <li key={row.id} className="row">
            <span className="grow">
              {row.name}{" "}
              <small className="soft">
                {row.lastReadAt ? t("calendar.read") : t("calendar.never-read")}{" "}
                {row.lastReadAt && <Timestamp at={row.lastReadAt} />}
              </small>
            </span>
            {row.permissions.includes("delete") && (
              <RemoveButton
                route={`${ROUTE}/{feedId}`}
                params={{ bellScheduleId, feedId: row.id }}
                id={row.id}
                name={row.name}
              />
            )}
          </li>
        ))}
      </ul>
      {make.data ? (
        <OneTimeSecret
          label={t("calendar.address")}
          value={make.data.url ?? ""}
          onKept={() => {
            make.reset();
            setName("");
          }}
        />
      ) : (
        <form
          className="row end"
          onSubmit={(event) => {
            event.preventDefault();
            make.mutate(name);
          }}
        >
          <TextInput
            className="grow"
            label={t("calendar.who")}
            required
            maxLength={140}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <Button type="submit" loading={make.isPending} disabled={name === ""}>
            {t("calendar.make")}
          </Button>
        </form>
      )}
      <ErrorLine error={make.error} />
    </section>
  );
}
