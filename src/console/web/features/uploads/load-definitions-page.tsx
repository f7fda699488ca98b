import type { LoadDefinitionRow } from "../../api/upload-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import type { FormValues } from "../../ui/form/form-fields.ts";
import { ListPage } from "../../ui/list/list-page.tsx";
import { NEW, RowSheet } from "../../ui/row-sheet.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { LoadFile } from "./load-file.tsx";
import { LoadRuns } from "./load-runs.tsx";
import { MappingField } from "./mapping-field.tsx";

const TYPES = ["table", "oneroster", "oneroster-api"] as const;
const DELIMITERS = ["comma", "semicolon", "tab", "pipe"] as const;
const ENCODINGS = ["utf-8", "utf-16le", "utf-16be", "windows-1252"] as const;
const QUOTES = ["double", "single", "none"] as const;

const isService = ({ type }: FormValues): boolean => type === "oneroster-api";
const isFile = (values: FormValues): boolean => !isService(values);

/** Sources outside that people and their lists come from, again and again. */
export default function LoadDefinitionsPage() {
  const { t, name } = useTranslation();
  return (
    <ListPage<LoadDefinitionRow>
      tabs="system"
      title={t("load.title")}
      add={t("load.add")}
      none={t("load.none")}
      route="load-definitions"
      columns={[
        { id: "type", head: t("field.type"), width: "1fr", cell: (row) => name("load-type", row.type) },
        { id: "from", head: t("load.from"), width: "1.5fr", cell: (row) => row.url ?? row.path ?? row.fileName ?? "–" },
        { id: "schedule", head: t("field.schedule"), width: "1fr", cell: (row) => row.schedule ?? t("load.by-hand") },
        {
          id: "state",
          head: t("field.status"),
          width: "8rem",
          side: true,
          cell: (row) => (row.disabled ? <Chip tone="warn">{t("load.off")}</Chip> : ""),
        },
      ]}
      sheet={(id, onClose) => <LoadSheet key={id} id={id} onClose={onClose} />}
    />
  );
}

function LoadSheet({ id, onClose }: { id: string; onClose: () => void }) {
  const { t, name } = useTranslation();
  return (
    <RowSheet
      id={id}
      item="load-definitions/{loadDefinitionId}"
      newTitle={t("load.add")}
      onClose={onClose}
      initial={{ type: "table" }}
      fields={[
        { name: "name" },
        { name: "type", choices: TYPES.map((value) => ({ value, label: name("load-type", value) })) },
        { name: "url", label: t("load.url"), hint: t("load.url-hint"), shown: isService },
        { name: "tokenUrl", label: t("load.token-url"), shown: isService },
        { name: "clientId", label: t("load.client-id"), shown: isService },
        {
          name: "clientSecret",
          kind: "secret",
          label: t("load.client-secret"),
          hint: t("load.client-secret-hint"),
          shown: isService,
        },
        { name: "incremental", label: t("load.incremental"), hint: t("load.incremental-hint"), shown: isService },
        { name: "path", kind: "text", hint: t("load.path-hint"), shown: isFile },
        {
          name: "mapping",
          kind: "own",
          shown: ({ type }) => type === "table",
          draw: ({ values, change }) => (
            <MappingField value={values.mapping} onChange={(mapping) => change({ mapping })} />
          ),
        },
        {
          ...{ name: "delimiter", label: t("load.delimiter"), hint: t("load.detected-hint") },
          choices: DELIMITERS.map((value) => ({ value, label: name("load-delimiter", value) })),
          shown: isFile,
        },
        {
          ...{ name: "encoding", label: t("load.encoding") },
          choices: ENCODINGS.map((value) => ({ value, label: name("load-encoding", value) })),
          shown: isFile,
        },
        {
          ...{ name: "quote", label: t("load.quote") },
          choices: QUOTES.map((value) => ({ value, label: name("load-quote", value) })),
          shown: isFile,
        },
        { name: "contactDevices", label: t("load.contact-devices"), hint: t("load.contact-devices-hint") },
        { name: "schedule", hint: t("load.schedule-hint") },
        { name: "removalThreshold", hint: t("load.threshold-hint") },
        { name: "listRemovalThreshold", label: t("load.list-threshold"), hint: t("load.list-threshold-hint") },
        { name: "errorThreshold", label: t("load.error-threshold"), hint: t("load.error-threshold-hint") },
        { name: "disabled", hint: t("load.disabled-hint") },
      ]}
      tabs={[
        { id: "file", label: t("upload.file"), content: <LoadFile loadDefinitionId={id} /> },
        { id: "runs", label: t("load.runs"), content: <LoadRuns loadDefinitionId={id} /> },
      ]}
    >
      {id !== NEW && <LoadRuns loadDefinitionId={id} most={1} />}
    </RowSheet>
  );
}
