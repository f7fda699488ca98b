import { Button } from "@mantine/core";
import type { ConnectivityTest, DeviceRow } from "../../api/rows.ts";
import { useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";

/** Last verification of a device's connection, and a silent test on demand. */
export function ConnectivityCheck({ row }: { row: DeviceRow }) {
  const { t, name, say } = useTranslation();
  const { client, notify } = useConsole();
  const test = useRowMutation<void, ConnectivityTest>("devices", async () => {
    const found = await client.post<ConnectivityTest>("devices/{deviceId}/quiet-test", { deviceId: row.id }, {});
    notify(
      found.fault === null
        ? t("connectivity.proven")
        : t("connectivity.failed", { reason: say(found.fault, found.faultSentence) }),
    );
    return found;
  });
  return (
    <>
      <dl className="facts">
        <dt>{t("connectivity.way")}</dt>
        <dd>
          {row.provenAt ? <Timestamp at={row.provenAt} /> : t("devices.never")}{" "}
          {row.provenBy && <small className="soft">{name("connectivity.by", row.provenBy)}</small>}
        </dd>
        {row.testedAt && (
          <>
            <dt>{t("connectivity.tested")}</dt>
            <dd>
              <Timestamp at={row.testedAt} />{" "}
              {row.testFault && (
                <small className="soft">
                  {t("connectivity.failed", { reason: say(row.testFault, row.testFaultSentence) })}
                </small>
              )}
            </dd>
          </>
        )}
        {row.isRegistered !== null && (
          <>
            <dt>{t("connectivity.registered")}</dt>
            <dd>{t(row.isRegistered ? "yes" : "no")}</dd>
          </>
        )}
      </dl>
      <div className="row">
        <Button variant="default" loading={test.isPending} onClick={() => test.mutate()}>
          {t("connectivity.test")}
        </Button>
        <small className="soft">{t("connectivity.test-text")}</small>
      </div>
      <ErrorLine error={test.error} />
    </>
  );
}
