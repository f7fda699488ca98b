import { Button } from "@mantine/core";
import type { PhoneConfigurationCheck } from "../../api/rows.ts";
import { useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { SentenceText } from "../../ui/sentence-text.tsx";
import { Chip } from "../../ui/status-chip.tsx";

const TONES = { refuses: "bad", "may-refuse": "warn", unknown: "warn" } as const;

/** What the call manager has configured for a phone, and whether the phone will take pushes; read on demand. */
export function PhoneConfiguration({ deviceId }: { deviceId: string }) {
  const { t } = useTranslation();
  const { client } = useConsole();
  const check = useRowMutation<void, PhoneConfigurationCheck>("devices", () =>
    client.post<PhoneConfigurationCheck>("devices/{deviceId}/phone-configuration", { deviceId }, {}),
  );
  return (
    <section className="stack" aria-live="polite">
      <div className="row">
        <Button variant="default" loading={check.isPending} onClick={() => check.mutate()}>
          {t("phone-configuration.read")}
        </Button>
        <small className="soft">{t("phone-configuration.read-text")}</small>
      </div>
      <ErrorLine error={check.error} />
      {check.data && <Result check={check.data} />}
    </section>
  );
}

function Result({ check: { configuration, problems, file, server } }: { check: PhoneConfigurationCheck }) {
  const { t, name } = useTranslation();
  const facts: [string, string | null | undefined][] = [
    ["field.authenticationUrl", configuration?.authenticationUrl],
    ["field.secureAuthenticationUrl", configuration?.secureAuthenticationUrl],
    ["field.webAccess", configuration?.webAccess && name("phone-web-access", configuration.webAccess)],
    ["field.load", configuration?.load],
    ["field.securityMode", configuration?.securityMode && name("phone-security", configuration.securityMode)],
    ["field.capfAddress", configuration?.capfAddress],
  ];
  return (
    <>
      {configuration && problems.length === 0 && <p>{t("phone-configuration.well")}</p>}
      <ul className="plain lined">
        {problems.map(({ code, severity, words, wordsSentence }) => (
          <li key={code} className="stack tight">
            <span className="row">
              <Chip tone={TONES[severity]}>{name("phone-problem", severity)}</Chip>
            </span>
            <span>
              <SentenceText text={words} sentence={wordsSentence} />
            </span>
          </li>
        ))}
      </ul>
      {configuration && (
        <dl className="facts">
          {facts.map(([key, value]) => (
            <Fact key={key} name={name("field", key.slice("field.".length))} value={value ?? "–"} />
          ))}
        </dl>
      )}
      {file && <small className="soft">{t("phone-configuration.source", { file, server: server ?? "" })}</small>}
    </>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd style={{ overflowWrap: "anywhere" }}>{value}</dd>
    </>
  );
}
