import { Button, Select } from "@mantine/core";
import { useState } from "react";
import type { ApplianceRow, EnrolmentCodeRow } from "../../api/link-rows.ts";
import { useRow, useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { OneTimeSecret } from "../../ui/one-time-secret.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import "../../ui/input-styles.ts";

/** The feed does not report that a code was used. */
const POLL_INTERVAL_MS = 5_000;

/** Makes codes by which appliances are enrolled, and takes them back. */
export function EnrolmentCodes({ appliances }: { appliances: readonly ApplianceRow[] }) {
  const { t } = useTranslation();
  const { client } = useConsole();
  const [endpointId, setEndpointId] = useState<string | null>(null);
  const [made, setMade] = useState<{ code: string; until: string } | null>(null);
  const making = useRowMutation<void, void>("endpoints", async () => {
    setMade(await client.post("link/codes", {}, endpointId === null ? {} : { endpointId }));
  });
  return (
    <section className="card" aria-label={t("appliances.code")}>
      <h2>{t("appliances.code")}</h2>
      <p className="soft">{t("cloud.enrol-text")}</p>
      <ErrorLine error={making.error} />
      {made ? (
        <>
          <p>
            {t("appliances.code-text")} <Timestamp at={made.until} />
          </p>
          <OneTimeSecret label={t("cloud.code")} value={made.code} onKept={() => setMade(null)} />
        </>
      ) : (
        <div className="row end">
          <Select
            label={t("appliances.code-for")}
            placeholder={t("appliances.any")}
            clearable
            data={appliances.map((row) => ({ value: row.endpointId, label: row.name ?? row.endpointId }))}
            value={endpointId}
            onChange={setEndpointId}
          />
          <Button loading={making.isPending} onClick={() => making.mutate()}>
            {t("appliances.add")}
          </Button>
        </div>
      )}
      <OpenCodes names={new Map(appliances.map((row) => [row.endpointId, row.name ?? row.endpointId]))} />
    </section>
  );
}

function OpenCodes({ names }: { names: ReadonlyMap<string, string> }) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const found = useRow<{ codes: readonly EnrolmentCodeRow[] }>(
    "link/codes",
    {},
    {},
    { refetchInterval: POLL_INTERVAL_MS },
  );
  const withdrawing = useRowMutation<string, void>("endpoints", async (codeId) => {
    await client.remove("link/codes/{codeId}", { codeId });
    notify(t("appliances.withdrawn"));
  });
  const codes = found.data?.codes ?? [];
  if (codes.length === 0) return <ErrorLine error={found.error} />;
  return (
    <>
      <h3>{t("appliances.codes")}</h3>
      <ErrorLine error={withdrawing.error} />
      <ul className="plain lined">
        {codes.map(({ id, endpointId, until }) => (
          <li key={id} className="row">
            <span className="grow">
              {endpointId === null
                ? t("appliances.any")
                : t("appliances.code-of", { name: names.get(endpointId) ?? endpointId })}
              , {t("appliances.code-text")} <Timestamp at={until} />
            </span>
            <Button variant="default" size="compact-sm" onClick={() => withdrawing.mutate(id)}>
              {t("appliances.withdraw")}
            </Button>
          </li>
        ))}
      </ul>
    </>
  );
}
