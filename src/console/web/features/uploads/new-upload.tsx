import { Select, Switch } from "@mantine/core";
import { useState } from "react";
import { tableContentType } from "../../api/client.ts";
import { routeUrl } from "../../api/routes.ts";
import type { UploadRow } from "../../api/upload-rows.ts";
import { useRowMutation, useSchemas } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { DropZone } from "../../ui/drop-zone.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { useTableSearch } from "../../ui/list/use-table-search.ts";
import "../../ui/input-styles.ts";

/** Kinds whose rows are those of another resource. */
const ROWS_OF: Readonly<Record<string, string>> = { speakers: "devices" };

/** A table is chosen, at first to be tried alone. */
export function NewUpload({ kinds }: { kinds: readonly string[] }) {
  const { t, name } = useTranslation();
  const { client } = useConsole();
  const [, show] = useTableSearch();
  const schemas = useSchemas();
  const [kind, setKind] = useState<string | null>(null);
  const [testMode, setTestMode] = useState(true);
  const made = schemas.data?.resources ?? {};
  const offered = kinds.filter((each) => (ROWS_OF[each] ?? each) in made);
  const sending = useRowMutation<File, void>("bulk-uploads", async (file) => {
    const contentType = tableContentType(file.name);
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
      <p className="soft">{t("upload.intro")}</p>
      <ErrorLine error={schemas.error} />
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
            <a href={routeUrl("bulk-uploads/templates/{resourceType}", { resourceType: kind })} download>
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
      <ErrorLine error={sending.error} />
    </div>
  );
}
