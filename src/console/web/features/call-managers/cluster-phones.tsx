import { Button } from "@mantine/core";
import type { ClusterTest, PhoneCache } from "../../api/rows.ts";
import { usePolling, useRow, useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { SentenceText } from "../../ui/sentence-text.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";

/** Whether a cluster can be read, tried live, and how far its phones are. */
export function ClusterPhones({ cucmClusterId }: { cucmClusterId: string }) {
  return (
    <div className="stack">
      <Phones cucmClusterId={cucmClusterId} />
      <Test cucmClusterId={cucmClusterId} />
    </div>
  );
}

function Phones({ cucmClusterId }: { cucmClusterId: string }) {
  const { t, name } = useTranslation();
  const { client } = useConsole();
  const route = "callmgr-clusters/{cucmClusterId}/phone-cache";
  const cache = useRow<PhoneCache>(route, { cucmClusterId });
  usePolling(route);
  const read = useRowMutation<void, unknown>("callmgr-clusters", () => client.post(route, { cucmClusterId }, {}));
  const { state, phones, registered, lastSuccessAt, reason, reasonSentence, warningSentences = [] } = cache.data ?? {};
  return (
    <section className="stack" aria-live="polite">
      <ErrorLine error={cache.error ?? read.error} />
      {state && (
        <p className="row">
          <Chip tone={state === "failed" ? "bad" : state === "idle" ? "good" : "warn"}>
            {name("cluster-state", state)}
          </Chip>
          {phones != null && <span>{t("cluster.phones-read", { phones, registered: registered ?? 0 })}</span>}
          {lastSuccessAt && (
            <small className="soft">
              {t("cluster.last-read")} <Timestamp at={lastSuccessAt} />
            </small>
          )}
        </p>
      )}
      {reason && (
        <p>
          <SentenceText text={reason} sentence={reasonSentence} />
        </p>
      )}
      {warningSentences.map((each) => (
        <p key={each.text}>
          <SentenceText text={each.text} sentence={each} />
        </p>
      ))}
      <div>
        <Button variant="default" loading={read.isPending} onClick={() => read.mutate()}>
          {t("cluster.read-now")}
        </Button>
      </div>
    </section>
  );
}

function Test({ cucmClusterId }: { cucmClusterId: string }) {
  const { t, name } = useTranslation();
  const { client } = useConsole();
  const test = useRowMutation<void, ClusterTest>("callmgr-clusters", () =>
    client.post<ClusterTest>("callmgr-clusters/{cucmClusterId}/connection-test", { cucmClusterId }, {}),
  );
  return (
    <section className="stack" aria-live="polite">
      <p className="soft">{t("cluster.test-text")}</p>
      <div>
        <Button loading={test.isPending} onClick={() => test.mutate()}>
          {t("cluster.test")}
        </Button>
      </div>
      <ErrorLine error={test.error} />
      {test.data?.ok && <p>{t("cluster.well")}</p>}
      <ul className="plain lined">
        {test.data?.checks.map(({ what, host, ok, needed, words, wordsSentence, tookMs }) => (
          <li key={`${what} ${host}`} className="stack tight">
            <span className="row">
              <Chip tone={ok ? "good" : needed ? "bad" : "warn"}>
                {t(ok ? "cluster.works" : needed ? "cluster.fails" : "cluster.optional")}
              </Chip>
              {name("cluster-check", what)} <small className="soft">{`${host}, ${tookMs} ms`}</small>
            </span>
            <span>
              <SentenceText text={words} sentence={wordsSentence} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
