import { Select, Switch } from "@mantine/core";
import { useState } from "react";
import { tableTypeOf } from "../../api/client.ts";
import { addressOf } from "../../api/routes.ts";
import type { UploadRow } from "../../api/upload-rows.ts";
import { useChange, useSchemas } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useWords } from "../../i18n/use-translation.tsx";
import { DropZone } from "../../ui/drop-zone.tsx";
import { FaultLine } from "../../ui/error-line.tsx";
import { useTableSearch } from "../../ui/list/use-table-search.ts";
import "../../ui/input-styles.ts";

/** Kinds whose rows are those of another resource. */
const ROWS_OF: Readonly<Record<string, string>> = { speakers: "devices" };

/** A table is chosen, at first to be tried alone. */
export function NewUpload({ kinds }: { kinds: readonly string[] }) {
  const { t, name } = useWords();
  const { client } = useConsole();
  const [, show] = useTableSearch();
  const schemas = useSchemas();
  const [kind, setKind] = useState<string | null>(null);
  const [testMode, setTestMode] = useState(true);
  const made = schemas.data?.resources ?? {};
  const offered = kinds.filter((each) => (ROWS_OF[each] ?? each) in made);
  const sending = useChange<File, void>("bulk-uploads", async (file) => {
    const contentType = tableTypeOf(file.name);
    const { id } = await client.post<UploadRow>("bulk-uploads", {}, { resourceType: kind, testMode, contentType });
    try {
      await client.putFile("bulk-uploads/{bulkUploadId}/file", { bulkUploadId: id }, file);
    } catch (error) {
      await client.remove("bulk-uploads/{bulkUploadId}", { bulkUploadId: id });
      throw error;
    }
    show({ open: id });
  });
  return (
    <div className="stack">
      <p className="soft">{t("upload.words")}</p>
      <FaultLine error={schemas.error} />
      <Select
        label={t("upload.kind")}
        placeholder={t("upload.choose-kind")}
        searchable
        data={offered.map((value) => ({ value, label: name("upload-type", value) }))}
        value={kind}
        onChange={setKind}
      />
      {kind && (
        <>
          <p>
            <a href={addressOf("bulk-uploads/templates/{resourceType}", { resourceType: kind })} download>
              {t("upload.template", { kind: name("upload-type", kind) })}
            </a>
          </p>
          <Switch
            label={t("upload.test")}
            description={t("upload.test-hint")}
            checked={testMode}
            onChange={(event) => setTestMode(event.currentTarget.checked)}
          />
          <DropZone
            label={t("upload.drop")}
            hint={t("upload.drop-hint")}
            accept=".tsv,.csv,.txt,text/tab-separated-values,text/csv"
            busy={sending.isPending}
            onFile={sending.mutate}
          />
        </>
      )}
      <FaultLine error={sending.error} />
    </div>
  );
}
