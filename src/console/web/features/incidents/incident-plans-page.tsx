import type { IncidentPlanRow } from "../../api/scenario-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ListPage } from "../../ui/list/list-page.tsx";
import { RowSheet } from "../../ui/row-sheet.tsx";
import { Aids, PLAN_AIDS } from "./aids.tsx";
import { RosterFields } from "./roster-fields.tsx";

/** Plans for incidents. */
export default function IncidentPlansPage() {
  const { t } = useTranslation();
  return (
    <ListPage<IncidentPlanRow>
      tabs="send"
      title={t("incident-plans.title")}
      add={t("incident-plans.add")}
      none={t("incident-plans.none")}
      route="incident-plans"
      columns={[
        {
          id: "description",
          head: t("incident-plans.description"),
          width: "2fr",
          cell: (row) => row.description ?? "–",
        },
        {
          id: "offers",
          head: t("incident-plans.offers"),
          width: "1fr",
          cell: (row) =>
            t("incident-plans.offers-n", { count: row.scenarioIds.length + row.messageTemplateIds.length }),
        },
      ]}
      sheet={(id, onClose) => <PlanSheet key={id} incidentPlanId={id} onClose={onClose} />}
    />
  );
}

function PlanSheet({ incidentPlanId, onClose }: { incidentPlanId: string; onClose: () => void }) {
  const { t } = useTranslation();
  const aids = <Aids of={PLAN_AIDS} params={{ incidentPlanId }} editable />;
  return (
    <RowSheet
      id={incidentPlanId}
      item="incident-plans/{incidentPlanId}"
      newTitle={t("incident-plans.add")}
      onClose={onClose}
      fields={[
        { name: "name" },
        {
          name: "description",
          kind: "long",
          label: t("incident-plans.description"),
          hint: t("incident-plans.description-hint"),
        },
        {
          name: "scenarioIds",
          kind: "rows",
          from: "scenarios",
          label: t("scenarios.title"),
          hint: t("incident-plans.scenarios-hint"),
        },
        {
          name: "messageTemplateIds",
          kind: "rows",
          from: "message-templates",
          label: t("templates.title"),
          hint: t("incident-plans.templates-hint"),
        },
        { name: "allowMultipleActiveIncidents", hint: t("incident-plans.multiple-hint") },
        {
          name: "rostering",
          kind: "own",
          heading: t("roster.plan-title"),
          draw: (given) => <RosterFields {...given} />,
        },
        { name: "isShared" },
      ]}
      tabs={[{ id: "aids", label: t("aid.title"), content: aids }]}
    />
  );
}
