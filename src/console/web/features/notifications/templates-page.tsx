import { Link } from "@tanstack/react-router";
import { EMERGENCY_FLAG } from "../../../../resources/messages/emergency-template.ts";
import { MESSAGE_PRIORITIES, UNFILLED_VARIABLES_POLICIES } from "../../../../resources/messages/message-options.ts";
import type { ConfirmationRequestRow, DistributionListRow, GroupRow, TemplateRow } from "../../api/rows.ts";
import { useRows } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ListPage } from "../../ui/list/list-page.tsx";
import { RowSheet } from "../../ui/row-sheet.tsx";
import { OptOuts } from "./opt-outs.tsx";

const ALL = { limit: 1_000, sort: "name" };

/** Message templates. */
export default function TemplatesPage() {
  const { t } = useTranslation();
  return (
    <ListPage<TemplateRow>
      tabs="send"
      title={t("templates.title")}
      add={t("templates.add")}
      none={t("templates.none")}
      route="message-templates"
      opener={{ width: "1.2fr" }}
      columns={[
        { id: "subject", head: t("field.subject"), width: "2fr", sort: "subject", cell: (row) => row.subject },
        { id: "tone", head: t("field.alertTone"), width: "8rem", cell: (row) => row.alertTone ?? "–" },
        {
          id: "use",
          head: t("nav.send"),
          width: "8rem",
          cell: (row) => (
            <Link to="/send" search={{ open: row.id }}>
              {t("templates.use")}
            </Link>
          ),
        },
      ]}
      sheet={(id, onClose) => <TemplateSheet id={id} onClose={onClose} />}
    />
  );
}

function TemplateSheet({ id, onClose }: { id: string; onClose: () => void }) {
  const { t, name } = useTranslation();
  const groups = useRows<GroupRow>("device-groups", {}, ALL);
  const lists = useRows<DistributionListRow>("distribution-lists", {}, ALL);
  const confirmations = useRows<ConfirmationRequestRow>("confirmation-requests", {}, ALL);
  return (
    <RowSheet
      id={id}
      item="message-templates/{messageTemplateId}"
      newTitle={t("templates.add")}
      onClose={onClose}
      fields={[
        { name: "name" },
        { name: "subject" },
        { name: "body" },
        { name: "alertTone" },
        { name: "priority", choices: MESSAGE_PRIORITIES.map((value) => ({ value, label: name("priority", value) })) },
        { name: "allClearSubject", hint: t("all-clear.hint") },
        { name: "allClearBody" },
        { name: "deviceGroupIds", kind: "many", choices: choicesOf(groups.data?.data) },
        { name: "distributionListIds", kind: "many", choices: choicesOf(lists.data?.data) },
        { name: "confirmationRequestId", kind: "choice", choices: choicesOf(confirmations.data?.data) },
        {
          name: "metadata",
          kind: "mark",
          hint: t("emergency.field-hint"),
          mark: { label: t("field.emergency"), path: EMERGENCY_FLAG },
        },
        { name: "followUp" },
        { name: "optOut", hint: t("templates.opt-out-hint") },
        {
          name: "cancelNotificationsType",
          hint: t("templates.cancels-hint"),
          choices: ["none", "specific", "all"].map((value) => ({ value, label: name("cancels", value) })),
        },
        {
          name: "messageTemplateCancellationIds",
          kind: "rows",
          from: "message-templates",
          shown: ({ cancelNotificationsType }) => cancelNotificationsType === "specific",
        },
        {
          name: "unfilledVariablesPolicy",
          hint: t("templates.unfilled-hint"),
          choices: UNFILLED_VARIABLES_POLICIES.map((value) => ({ value, label: name("unfilled", value) })),
        },
        { name: "subjectCustomizable" },
        { name: "bodyCustomizable" },
        { name: "deviceGroupIdsCustomizable" },
        { name: "distributionListIdsCustomizable" },
      ]}
    >
      <OptOuts messageTemplateId={id} />
    </RowSheet>
  );
}

function choicesOf(rows: readonly { id: string; name: string }[] | undefined) {
  return (rows ?? []).map(({ id, name }) => ({ value: id, label: name }));
}
