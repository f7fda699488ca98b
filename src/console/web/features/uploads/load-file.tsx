import type { LoadDefinitionRow } from "../../api/upload-rows.ts";
import { useRow, useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { DropZone } from "../../ui/drop-zone.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";

/** The file that a source without a path is loaded from. */
export function LoadFile({ loadDefinitionId }: { loadDefinitionId: string }) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const row = useRow<LoadDefinitionRow>("load-definitions/{loadDefinitionId}", { loadDefinitionId });
  const taking = useRowMutation<File, void>("load-definitions", async (file) => {
    await client.putFile("load-definitions/{loadDefinitionId}/file", { loadDefinitionId }, file);
    notify(t("saved"));
  });
  const { path, fileName, uploadedAt } = row.data ?? { path: null, fileName: null, uploadedAt: null };
  return (
    <div className="stack">
      <ErrorLine error={row.error} />
      {path !== null ? (
        <p>{t("load.has-path", { path })}</p>
      ) : (
        <>
          <p>
            {fileName === null ? (
              t("load.no-file")
            ) : (
              <>
                {`${t("load.has-file", { name: fileName })} · `}
                <Timestamp at={uploadedAt} />
              </>
            )}
          </p>
          <DropZone
            label={t("upload.drop")}
            hint={t("load.drop-hint")}
            accept=".tsv,.csv,.txt,.zip"
            busy={taking.isPending}
            onFile={taking.mutate}
          />
        </>
      )}
      <ErrorLine error={taking.error} />
    </div>
  );
}
