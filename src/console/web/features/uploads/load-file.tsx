import type { LoadRow } from "../../api/upload-rows.ts";
import { useChange, useRow } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useWords } from "../../i18n/use-translation.tsx";
import { DropZone } from "../../ui/drop-zone.tsx";
import { FaultLine } from "../../ui/error-line.tsx";
import { Moment } from "../../ui/timestamp.tsx";

/** The file that a source without a path is loaded from. */
export function LoadFile({ loadDefinitionId }: { loadDefinitionId: string }) {
  const { t } = useWords();
  const { client, say } = useConsole();
  const row = useRow<LoadRow>("load-definitions/{loadDefinitionId}", { loadDefinitionId });
  const taking = useChange<File, void>("load-definitions", async (file) => {
    await client.putFile("load-definitions/{loadDefinitionId}/file", { loadDefinitionId }, file);
    say(t("saved"));
  });
  const { path, fileName, uploadedAt } = row.data ?? { path: null, fileName: null, uploadedAt: null };
  return (
    <div className="stack">
      <FaultLine error={row.error} />
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
                <Moment at={uploadedAt} />
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
      <FaultLine error={taking.error} />
    </div>
  );
}
