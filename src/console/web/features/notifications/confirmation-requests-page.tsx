import type { ConfirmationRequestRow } from "../../api/rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ListPage } from "../../ui/list/list-page.tsx";
import { RowSheet } from "../../ui/row-sheet.tsx";

/** Answers that recipients may give. */
export default function ConfirmationRequestsPage() {
  const { t } = useTranslation();
  return (
    <ListPage<ConfirmationRequestRow>
      tabs="send"
      title={t("confirmations.title")}
      add={t("confirmations.add")}
      none={t("confirmations.none")}
      route="confirmation-requests"
      opener={{ width: "1.5fr" }}
      columns={[{ id: "options", head: t("field.options"), width: "2fr", cell: (row) => row.options.join(" · ") }]}
      sheet={(id, onClose) => (
        <RowSheet
          id={id}
          item="confirmation-requests/{confirmationRequestId}"
          newTitle={t("confirmations.add")}
          onClose={onClose}
          fields={[
            { name: "name" },
            { name: "options", hint: t("confirmations.options-hint") },
            { name: "expirationPeriod", hint: t("confirmations.period-hint") },
            { name: "repeatInterval", hint: t("confirmations.repeat-hint") },
            { name: "repeatLimit" },
          ]}
        />
      )}
    />
  );
}
