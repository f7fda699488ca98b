import { Button, Checkbox } from "@mantine/core";
import { useState } from "react";
import type { HandOverAppliance } from "../../api/rows.ts";
import { useRow, useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";

const ROUTE = "callmgr-clusters/{cucmClusterId}/secret-hand-over";
const TONES = { none: "", given: "good", stale: "warn" } as const;

/** At the cloud: the appliances that get the passwords of a cluster, sealed for their keys. */
export function SecretHandOver({ cucmClusterId }: { cucmClusterId: string }) {
  const { t } = useTranslation();
  const found = useRow<{ appliances: readonly HandOverAppliance[] }>(ROUTE, { cucmClusterId });
  const appliances = found.data?.appliances;
  return (
    <section className="stack">
      <p>{t("hand-over.text")}</p>
      <ErrorLine error={found.error} />
      {appliances?.length === 0 && <p className="soft">{t("cluster.no-server")}</p>}
      {appliances && appliances.length > 0 && (
        // Another answer of the server begins with its choice.
        <Choice key={JSON.stringify(appliances)} cucmClusterId={cucmClusterId} appliances={appliances} />
      )}
    </section>
  );
}

interface ChoiceProps {
  cucmClusterId: string;
  appliances: readonly HandOverAppliance[];
}

function Choice({ cucmClusterId, appliances }: ChoiceProps) {
  const { t, name } = useTranslation();
  const { client, notify } = useConsole();
  const [chosen, setChosen] = useState(() =>
    appliances.flatMap((each) => (each.consent === "given" ? each.endpointId : [])),
  );
  const save = useRowMutation<void, unknown>("callmgr-clusters", async () => {
    const fingerprints = appliances.flatMap((each) => each.fingerprint ?? []);
    await client.put(ROUTE, { cucmClusterId }, { endpointIds: chosen, fingerprints });
    notify(t("saved"));
  });
  const toggle = (id: string, isChosen: boolean): void =>
    setChosen((before) => (isChosen ? [...before, id] : before.filter((each) => each !== id)));
  return (
    <>
      <ul className="plain lined">
        {appliances.map(({ endpointId, name: label, fingerprint, consent, handedOverAt }) => (
          <li key={endpointId} className="stack tight">
            <span className="row">
              <Checkbox
                label={label ?? endpointId}
                disabled={fingerprint === null}
                checked={chosen.includes(endpointId)}
                onChange={(event) => toggle(endpointId, event.currentTarget.checked)}
              />
              <Chip tone={TONES[consent]}>{name("hand-over-consent", consent)}</Chip>
            </span>
            {fingerprint === null ? (
              <small className="soft">{t("hand-over.no-key")}</small>
            ) : (
              <small>
                {t("hand-over.key")} <code>{fingerprint}</code>
              </small>
            )}
            {handedOverAt && (
              <small className="soft">
                {t("hand-over.at")} <Timestamp at={handedOverAt} />
              </small>
            )}
          </li>
        ))}
      </ul>
      <div>
        <Button loading={save.isPending} onClick={() => save.mutate()}>
          {t("save")}
        </Button>
      </div>
      <ErrorLine error={save.error} />
    </>
  );
}
