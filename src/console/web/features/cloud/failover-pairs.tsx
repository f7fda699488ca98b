import { Button } from "@mantine/core";
import type { FailoverPairRow } from "../../api/link-rows.ts";
import { useAppliances, useRows } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { ApplianceField } from "../../ui/form/appliances-field.tsx";
import { useTableSearch } from "../../ui/list/use-table-search.ts";
import { NEW, RowSheet } from "../../ui/row-sheet.tsx";
import { usePendingRemovalIds } from "../../ui/use-removal.ts";

const ENDS = ["primaryEndpointId", "backupEndpointId"] as const;

/** Pairs of appliances, of which the second takes the place of the first. */
export function FailoverPairs() {
  const { t } = useTranslation();
  const [{ open }, show] = useTableSearch();
  const gone = usePendingRemovalIds();
  const names = new Map(useAppliances().map(({ id, name }) => [id, name ?? "–"]));
  const found = useRows<FailoverPairRow>("failover-pairs", {}, { limit: 1_000 });
  const pairs = (found.data?.data ?? []).filter(({ id }) => !gone.has(id));
  const nameOf = (id: string): string => names.get(id) ?? "–";
  return (
    <section className="card" aria-label={t("failover-pair.title")}>
      <h2>{t("failover-pair.title")}</h2>
      <ErrorLine error={found.error} />
      {found.data && pairs.length === 0 && <p className="soft">{t("failover-pair.none")}</p>}
      <ul className="plain lined">
        {pairs.map((pair) => (
          <li key={pair.id} className="row">
            <button type="button" className="open" onClick={() => show({ open: pair.id })}>
              {pair.name}
            </button>
            <span className="grow soft">
              {t("failover-pair.intro", {
                first: nameOf(pair.primaryEndpointId),
                second: nameOf(pair.backupEndpointId),
                count: pair.timeout,
              })}
            </span>
          </li>
        ))}
      </ul>
      <div>
        <Button variant="default" onClick={() => show({ open: NEW })}>
          {t("failover-pair.add")}
        </Button>
      </div>
      {open && <PairSheet key={open} id={open} onClose={() => show({ open: undefined })} />}
    </section>
  );
}

function PairSheet({ id, onClose }: { id: string; onClose: () => void }) {
  const { t, name } = useTranslation();
  return (
    <RowSheet
      id={id}
      item="failover-pairs/{failoverPairId}"
      newTitle={t("failover-pair.add")}
      onClose={onClose}
      {...(id === NEW ? { initial: { timeout: 3 } } : {})}
      fields={[
        { name: "name" },
        ...ENDS.map((end) => ({
          name: end,
          kind: "own" as const,
          draw: ({ values, change, error }: Parameters<typeof drawEnd>[1]) => drawEnd(end, { values, change, error }),
        })),
        { name: "timeout", hint: t("failover-pair.timeout-hint") },
      ]}
    />
  );

  function drawEnd(
    end: (typeof ENDS)[number],
    {
      values,
      change,
      error,
    }: { values: Readonly<Record<string, unknown>>; change(changed: Record<string, unknown>): void; error: unknown },
  ) {
    return (
      <ApplianceField
        name={end}
        label={name("field", end)}
        value={values[end]}
        error={error}
        onChange={(endpointId) => change({ [end]: endpointId })}
      />
    );
  }
}
