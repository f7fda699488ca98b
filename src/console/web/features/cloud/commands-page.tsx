import { Select, TextInput } from "@mantine/core";
import { ENDPOINT_ACTIVITY_TYPES } from "../../../../resources/devices/endpoint-activity-types.ts";
import type { EndpointActivityRow } from "../../api/identity-rows.ts";
import { useAppliances } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ListPage } from "../../ui/list/list-page.tsx";
import type { ListFilter } from "../../ui/list/table-search.ts";
import { useTableSearch } from "../../ui/list/use-table-search.ts";
import { endOfDay, startOfDay } from "../../ui/local-time.ts";
import { SectionTabs } from "../../ui/section-tabs.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import { CommandSheet } from "./command-sheet.tsx";
import { CommandStateChip } from "./command-state.tsx";
import { commandResultText } from "./command-text.ts";
import "../../ui/input-styles.ts";
import "../../ui/lines.css";
import { PageTitle } from "../../ui/page-title.tsx";

const STATES = ["pending", "success", "fail"];
const SEVERITIES = ["debug", "info", "warn", "error"];
const TONES: Readonly<Record<string, string>> = { warn: "warn", error: "bad" };

/** Activity log of appliances, with commands and their results. */
export default function CommandsPage() {
  const translator = useTranslation();
  const { t, name } = translator;
  const [{ endpoint, since, until, type }] = useTableSearch();
  const appliances = useAppliances();
  const chosen = appliances.find(({ id }) => id === endpoint) ?? appliances[0];
  const filters: ListFilter[] = [
    {
      name: "state",
      label: t("log.state"),
      choices: STATES.map((value) => ({ value, label: name("activity-state", value) })),
    },
    {
      name: "severity",
      label: t("log.severity"),
      choices: SEVERITIES.map((value) => ({ value, label: name("severity", value) })),
    },
  ];
  if (!chosen)
    return (
      <div className="page">
        <SectionTabs of="history" />
        <PageTitle>{t("log.title")}</PageTitle>
      </div>
    );
  const params = { extensionId: chosen.extensionId, endpointId: chosen.id };
  return (
    <ListPage<EndpointActivityRow>
      tabs="history"
      title={t("log.title")}
      none={t("log.none")}
      route="extensions/{extensionId}/endpoints/{endpointId}/activities"
      params={params}
      sort="-createdAt"
      filters={filters}
      query={{
        ...(type ? { type } : {}),
        createdAt__gte: startOfDay(since ?? "") ?? undefined,
        createdAt__lt: endOfDay(until ?? "") ?? undefined,
      }}
      opener={{ head: t("log.what"), sort: null, text: (row) => name("log-type", row.type) }}
      columns={[
        {
          id: "state",
          head: t("log.state"),
          width: "9rem",
          side: true,
          cell: (row) => <CommandStateChip state={row.state} />,
        },
        { id: "severity", head: t("log.severity"), width: "7rem", cell: (row) => <SeverityChip row={row} /> },
        { id: "value", head: t("log.value"), width: "2fr", cell: (row) => commandResultText(row, translator) },
        {
          id: "at",
          head: t("log.when"),
          width: "11rem",
          sort: "createdAt",
          cell: (row) => <Timestamp at={row.createdAt} />,
        },
      ]}
      sheet={(id, onClose) => <CommandSheet key={id} {...{ params, id, onClose }} />}
    >
      <Narrowing />
    </ListPage>
  );
}

function SeverityChip({ row: { severity } }: { row: EndpointActivityRow }) {
  const { name } = useTranslation();
  return <Chip tone={TONES[severity] ?? ""}>{name("severity", severity)}</Chip>;
}

/** Appliance, kind and days that the list is narrowed to. */
function Narrowing() {
  const { t, name, language } = useTranslation();
  const [{ endpoint, type, since, until }, show] = useTableSearch();
  const appliances = useAppliances();
  const types = ENDPOINT_ACTIVITY_TYPES.map((value) => ({ value, label: name("log-type", value) }));
  return (
    <div className="row end">
      <Select
        label={t("log.appliance")}
        allowDeselect={false}
        data={appliances.map((row) => ({ value: row.id, label: row.name ?? row.id }))}
        value={endpoint ?? appliances[0]?.id ?? null}
        onChange={(id) => show({ endpoint: id ?? undefined, open: undefined })}
      />
      <Select
        label={t("log.type")}
        placeholder={t("log.all-types")}
        clearable
        searchable
        data={types.sort((a, b) => a.label.localeCompare(b.label, language))}
        value={type ?? null}
        onChange={(value) => show({ type: value ?? undefined })}
      />
      <TextInput
        type="date"
        label={t("log.since")}
        value={since ?? ""}
        onChange={(event) => show({ since: event.currentTarget.value || undefined })}
      />
      <TextInput
        type="date"
        label={t("log.until")}
        value={until ?? ""}
        onChange={(event) => show({ until: event.currentTarget.value || undefined })}
      />
    </div>
  );
}
