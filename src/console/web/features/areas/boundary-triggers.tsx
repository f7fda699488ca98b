import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { BoundaryActivityRow, BoundaryTriggerRow } from "../../api/place-rows.ts";
import { useRows } from "../../api/use-rows.ts";
import type { MessageFamily } from "../../i18n/message-keys.ts";
import type { Translator } from "../../i18n/translator.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import type { FieldOverrides } from "../../ui/form/form-fields.ts";
import { ListTable } from "../../ui/list/list-table.tsx";
import { NEW, RowSheet } from "../../ui/row-sheet.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import { useHistorySheet } from "../../ui/use-history-sheet.ts";
import "../../ui/lines.css";

const ACTIONS = ["entered", "exited", "both"];
const THEN = ["send-to-none", "send-to-user", "send-to-message-template-recipients"];
const ROUTE = "areas-of-interest/{areaOfInterestId}/boundary-triggers";

/** Actions when someone crosses the boundary of an area. */
export function BoundaryTriggers({ areaOfInterestId }: { areaOfInterestId: string }) {
  const translator = useTranslation();
  const { t } = translator;
  const { opened: open, open: setOpen, close } = useHistorySheet<string>();
  const triggers = useRows<BoundaryTriggerRow>(ROUTE, { areaOfInterestId }, { limit: 1_000, sort: "name" });
  return (
    <section className="stack">
      <ErrorLine error={triggers.error} />
      {triggers.data?.total === 0 && <p className="soft">{t("boundary.none")}</p>}
      <ul className="plain">
        {triggers.data?.data.map((row) => (
          <li key={row.id}>
            <button type="button" className="tile wide" onClick={() => setOpen(row.id)}>
              {row.name}
              <small>{sentenceOf(row, translator)}</small>
              {row.perUserThrottlingInSecs > 0 && (
                <small>{t("boundary.every", { count: row.perUserThrottlingInSecs })}</small>
              )}
            </button>
          </li>
        ))}
      </ul>
      <div>
        <Button variant="default" onClick={() => setOpen(NEW)}>
          {t("boundary.add")}
        </Button>
      </div>
      {open && <TriggerSheet key={open} id={open} {...{ areaOfInterestId }} onClose={close} />}
    </section>
  );
}

/** `When somebody enters: Send to that person (Welcome)`. */
function sentenceOf(row: BoundaryTriggerRow, { t, name }: Pick<Translator, "t" | "name">): string {
  const says = row.subject ?? row.messageTemplate?.name;
  const deed = name("boundary-do", row.notificationAction);
  return t("boundary.sentence", {
    action: name("boundary-action", row.action),
    deed: says ? `${deed} (${says})` : deed,
  });
}

interface TriggerSheetProps {
  id: string;
  areaOfInterestId: string;
  onClose(): void;
}

function TriggerSheet({ id, areaOfInterestId, onClose }: TriggerSheetProps) {
  const { t, name } = useTranslation();
  const choices = (family: MessageFamily, values: readonly string[]) =>
    values.map((value) => ({ value, label: name(family, value) }));
  const fields: FieldOverrides[] = [
    { name: "name" },
    { name: "action", choices: choices("boundary-action", ACTIONS) },
    { name: "perUserThrottlingInSecs", min: 0, hint: t("boundary.throttle-hint") },
    { name: "notificationAction", choices: choices("boundary-do", THEN) },
    { name: "messageTemplateId", kind: "row", from: "message-templates", hint: t("boundary.template-hint") },
    { name: "subject", hint: t("boundary.override-hint") },
    { name: "body", hint: t("boundary.override-hint") },
    { name: "distributionListIds", kind: "rows", from: "distribution-lists", hint: t("boundary.who-hint") },
    { name: "userIds", kind: "rows", from: "users", hint: t("boundary.who-hint") },
  ];
  return (
    <RowSheet
      id={id}
      item={`${ROUTE}/{boundaryTriggerId}`}
      within={{ areaOfInterestId }}
      newTitle={t("boundary.add")}
      initial={{ action: "entered", notificationAction: "send-to-user", perUserThrottlingInSecs: 0 }}
      onClose={onClose}
      fields={fields}
      tabs={[
        {
          id: "activities",
          label: t("boundary.activities"),
          content: <Activities {...{ areaOfInterestId }} boundaryTriggerId={id} />,
        },
      ]}
    />
  );
}

function Activities(params: { areaOfInterestId: string; boundaryTriggerId: string }) {
  const { t, name } = useTranslation();
  return (
    <div className="members-table">
      <ListTable<BoundaryActivityRow>
        label={t("boundary.activities")}
        route={`${ROUTE}/{boundaryTriggerId}/activities`}
        params={params}
        sort="-createdAt"
        columns={[
          { id: "who", head: t("audit.who"), width: "1fr", cell: (row) => row.user?.name ?? "–" },
          {
            id: "reason",
            head: t("audit.what"),
            width: "9rem",
            cell: (row) => (
              <span className="row tight">
                {name("boundary-reason", row.reason ?? "")}{" "}
                <small className="soft">
                  <Timestamp at={row.createdAt} />
                </small>
              </span>
            ),
          },
          {
            id: "status",
            head: t("field.status"),
            width: "11rem",
            side: true,
            cell: (row) =>
              row.notificationId ? (
                <Link to="/broadcasts/$notificationId" params={{ notificationId: row.notificationId }}>
                  {t("boundary.message")}
                </Link>
              ) : (
                <Chip tone={row.status === "success" ? "good" : "warn"}>
                  {name("boundary-status", row.status ?? "")}
                </Chip>
              ),
          },
        ]}
        empty={<p>{t("boundary.no-activities")}</p>}
      />
    </div>
  );
}
