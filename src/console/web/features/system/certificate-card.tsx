import { Button } from "@mantine/core";
import { useState } from "react";
import type { CertificateAnswer } from "../../api/rows.ts";
import { useRow, useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { FileField } from "../../ui/file-field.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";

const PEM = [".pem", ".crt", ".cer", ".key"];

/** The certificate that browsers are shown, and another one in its place. */
export function CertificateCard() {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const [files, setFiles] = useState<{ certificate: File | null; key: File | null }>({ certificate: null, key: null });
  const found = useRow<CertificateAnswer>("certificate");
  const change = useRowMutation<object | null, void>("endpoints", async (body) => {
    if (body) await client.put("certificate", {}, body);
    else await client.remove("certificate");
    notify(t("certificate.shown"));
  });
  const { certificate, key } = files;
  const install = async () => {
    if (certificate && key) change.mutate({ certificate: await certificate.text(), key: await key.text() });
  };
  const shown = found.data;
  return (
    <section className="card">
      <h2>{t("certificate.title")}</h2>
      <ErrorLine error={found.error} />
      {shown && (
        <>
          <p>
            {t(shown.origin === null ? "certificate.none" : `certificate.${shown.origin}`)}{" "}
            {shown.validUntil && (
              <>
                {t("certificate.until")} <Timestamp at={shown.validUntil} />
              </>
            )}
          </p>
          {shown.names.length > 0 && <p className="soft">{shown.names.join(", ")}</p>}
          <p>
            <a href={`data:application/x-x509-ca-cert,${encodeURIComponent(shown.authority)}`} download="carillon.crt">
              {t("certificate.authority")}
            </a>
          </p>
        </>
      )}
      <FileField
        id="certificate-file"
        label={t("certificate.file")}
        required={false}
        error={null}
        accept={PEM}
        value={certificate}
        onChange={(next) => setFiles({ certificate: next, key })}
      />
      <FileField
        id="certificate-key"
        label={t("certificate.key")}
        description={t("certificate.key-hint")}
        required={false}
        error={null}
        accept={PEM}
        value={key}
        onChange={(next) => setFiles({ certificate, key: next })}
      />
      <ErrorLine error={change.error} />
      <div className="row">
        <Button disabled={!certificate || !key} loading={change.isPending} onClick={() => void install()}>
          {t("certificate.install")}
        </Button>
        {shown?.origin === "installed" && (
          <Button variant="default" loading={change.isPending} onClick={() => change.mutate(null)}>
            {t("certificate.remove")}
          </Button>
        )}
      </div>
    </section>
  );
}
