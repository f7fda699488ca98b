import { Button } from "@mantine/core";
import type { DeviceRow, QuietTest } from "../../api/rows.ts";
import { useChange } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useWords } from "../../i18n/use-translation.tsx";
import { FaultLine } from "../../ui/error-line.tsx";
import { Moment } from "../../ui/timestamp.tsx";

/** When the way to a device was last proven and by what; tests it on demand. */
export function ProvenWay({ row }: { row: DeviceRow }) {
  const { t, name } = useWords();
  const { client, say } = useConsole();
  const test = useChange<void, QuietTest>("devices", async () => {
    const found = await client.post<QuietTest>("devices/{deviceId}/quiet-test", { deviceId: row.id }, {});
    say(found.fault === null ? t("proof.proven") : t("proof.failed", { reason: found.fault }));
    return found;
  });
  return (
    <>
      <dl className="facts">
        <dt>{t("proof.way")}</dt>
        <dd>
          {row.provenAt ? <Moment at={row.provenAt} /> : t("devices.never")}{" "}
          {row.provenBy && <small className="soft">{name("proof.by", row.provenBy)}</small>}
        </dd>
        {row.testedAt && (
          <>
            <dt>{t("proof.tested")}</dt>
            <dd>
              <Moment at={row.testedAt} />{" "}
              {row.testFault && <small className="soft">{t("proof.failed", { reason: row.testFault })}</small>}
            </dd>
          </>
        )}
        {row.isRegistered !== null && (
          <>
            <dt>{t("proof.registered")}</dt>
            <dd>{t(row.isRegistered ? "yes" : "no")}</dd>
          </>
        )}
      </dl>
      <div className="row">
        <Button variant="default" loading={test.isPending} onClick={() => test.mutate()}>
          {t("proof.test")}
        </Button>
        <small className="soft">{t("proof.test-words")}</small>
      </div>
      <FaultLine error={test.error} />
    </>
  );
}
