import { Button } from "@mantine/core";
import type { FloorRow } from "../../api/place-rows.ts";
import { useRowMutation, useRows } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import "../../ui/lines.css";

/** The floors of a building, the highest on top, to be put in order. */
export function FloorOrder({ siteId, buildingId }: { siteId: string; buildingId: string }) {
  const { t } = useTranslation();
  const { client } = useConsole();
  const params = { siteId, buildingId };
  const floors = useRows<FloorRow>("sites/{siteId}/buildings/{buildingId}/floors", params, {
    limit: 100,
    sort: "-rank",
  });
  const rows = floors.data?.data ?? [];
  const order = useRowMutation("floors", (ids: readonly string[]) =>
    client.put("sites/{siteId}/buildings/{buildingId}/reorder-floors", params, { floors: ids.toReversed() }),
  );
  const swap = (at: number, by: number) => {
    const ids = rows.map(({ id }) => id);
    const [moved] = ids.splice(at, 1);
    if (moved) order.mutate(ids.toSpliced(at + by, 0, moved));
  };
  return (
    <section className="stack">
      <p className="soft">{t("places.floors-text")}</p>
      <ErrorLine error={floors.error ?? order.error} />
      <ol className="plain lined">
        {rows.map(({ id, name }, at) => (
          <li key={id} className="row">
            <strong className="grow">{name}</strong>
            {([-1, 1] as const).map((by) => (
              <Button
                key={by}
                variant="default"
                size="compact-sm"
                aria-label={t(by < 0 ? "places.up" : "places.down", { name })}
                disabled={order.isPending || at + by < 0 || at + by >= rows.length}
                onClick={() => swap(at, by)}
              >
                <span aria-hidden="true">{by < 0 ? "↑" : "↓"}</span>
              </Button>
            ))}
          </li>
        ))}
      </ol>
    </section>
  );
}
