import type { DialingConfigurationRow } from "../../api/place-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ListPage } from "../../ui/list/list-page.tsx";
import { NEW, RowSheet } from "../../ui/row-sheet.tsx";
import { Chip } from "../../ui/status-chip.tsx";

type CallAction = DialingConfigurationRow["callAction"];

const CALL_ACTIONS: readonly CallAction[] = [
  "LIVE_PAGE",
  "SEND",
  "RECORDING",
  "ALL_CLEAR",
  "LAST_BROADCAST",
  "ECHO_TEST",
];
const STARTS_SCENARIOS = "ACTIONS_WITH_FALLBACK_NOTIFICATION";

/** Numbers that people dial, and what happens when they do. */
export default function DialingPage() {
  const { t } = useTranslation();
  return (
    <ListPage<DialingConfigurationRow>
      tabs="devices"
      title={t("dialing.title")}
      add={t("dialing.add")}
      none={t("dialing.none")}
      route="dialcast-dialing-configurations"
      opener={{ width: "1.5fr" }}
      columns={[
        {
          id: "number",
          head: t("field.dialingPatternRegex"),
          width: "8rem",
          cell: (row) => <code>{row.dialingPatternRegex}</code>,
        },
        { id: "action", head: t("field.callAction"), width: "2fr", cell: (row) => <Effect row={row} /> },
        { id: "to", head: t("dialing.to"), width: "1.5fr", cell: (row) => <Recipients row={row} /> },
        { id: "state", head: t("field.status"), width: "9rem", side: true, cell: (row) => <State row={row} /> },
      ]}
      sheet={(id, onClose) => <DialingSheet key={id} id={id} onClose={onClose} />}
    />
  );
}

/** What happens, in words. */
function Effect({ row }: { row: DialingConfigurationRow }) {
  const { t, name } = useTranslation();
  const startsScenarios = row.callAction === "SEND" && row.type === STARTS_SCENARIOS;
  return <>{startsScenarios ? t("dialing.scenarios") : name("dialing-action", row.callAction)}</>;
}

/** Whom it reaches: a rule without recipients has those of its template. */
function Recipients({ row }: { row: DialingConfigurationRow }) {
  const { t } = useTranslation();
  if (row.callAction === "ECHO_TEST") return null;
  const named = [...row.deviceGroups, ...row.distributionLists].map((each) => each.name);
  if (named.length > 0) return <>{named.join(", ")}</>;
  if (row.lostReferences > 0) return <>{t("dialing.lost")}</>;
  return <>{row.messageTemplate ? t("dialing.of-template", { name: row.messageTemplate.name }) : ""}</>;
}

function State({ row }: { row: DialingConfigurationRow }) {
  const { t } = useTranslation();
  if (!row.enabled) return <Chip tone="">{t("dialing.off")}</Chip>;
  return row.authenticationEnabled ? <Chip tone="">{t("dialing.with-pin")}</Chip> : null;
}

function DialingSheet({ id, onClose }: { id: string; onClose: () => void }) {
  const { t, name } = useTranslation();
  const isSend = ({ callAction }: Readonly<Record<string, unknown>>): boolean => callAction === "SEND";
  return (
    <RowSheet
      id={id}
      item="dialcast-dialing-configurations/{dialcastDialingConfigurationId}"
      newTitle={t("dialing.add")}
      onClose={onClose}
      {...(id === NEW ? { initial: { callAction: "LIVE_PAGE", type: "NOTIFICATION", enabled: true } } : {})}
      fields={[
        { name: "name" },
        { name: "dialingPatternRegex", hint: t("dialing.number-hint") },
        {
          name: "callAction",
          kind: "choice",
          required: true,
          hint: t("dialing.action-hint"),
          choices: CALL_ACTIONS.map((value) => ({ value, label: name("dialing-action", value) })),
        },
        { name: "messageTemplateId", kind: "row", from: "message-templates", hint: t("dialing.template-hint") },
        { name: "deviceGroupIds", kind: "rows", from: "device-groups", hint: t("dialing.recipients-hint") },
        { name: "distributionListIds", kind: "rows", from: "distribution-lists" },
        {
          name: "type",
          kind: "choice",
          shown: isSend,
          choices: [
            { value: "NOTIFICATION", label: t("dialing.send-message") },
            { value: STARTS_SCENARIOS, label: t("dialing.scenarios") },
          ],
        },
        {
          name: "scenarioIds",
          kind: "rows",
          from: "scenarios",
          shown: (values) => isSend(values) && values.type === STARTS_SCENARIOS,
        },
        { name: "pin", hint: t("dialing.pin-hint") },
        { name: "enabled" },
      ]}
    />
  );
}
