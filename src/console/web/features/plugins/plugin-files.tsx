import { addressOf } from "../../api/routes.ts";
import type { ExtensionRow } from "../../api/rows.ts";
import type { ExtensionFileRow } from "../../api/upload-rows.ts";
import { useChange, useRows } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useWords } from "../../i18n/use-translation.tsx";
import { DropZone } from "../../ui/drop-zone.tsx";
import { FaultLine } from "../../ui/error-line.tsx";
import { RemoveButton } from "../../ui/remove-button.tsx";
import { sizeWords } from "../uploads/upload-text.ts";

/** Files that a plugin needs, such as a certificate or a key. */
export function PluginFiles({ row }: { row: ExtensionRow }) {
  const { t } = useWords();
  const { client, say } = useConsole();
  const params = { extensionId: row.id };
  const files = useRows<ExtensionFileRow>("extensions/{extensionId}/attachments", params, { limit: 100 });
  const adding = useChange<File, void>("extension-attachments", async (file) => {
    const form = new FormData();
    form.set("file", file);
    await client.post("extensions/{extensionId}/attachments", params, form);
    say(t("saved"));
  });
  const rows = files.data?.data ?? [];
  const mayChange = row.permissions.includes("put");
  return (
    <section className="stack">
      <FaultLine error={files.error ?? adding.error} />
      {files.data && rows.length === 0 && <p className="soft">{t("plugin.no-files")}</p>}
      <ul className="plain lined">
        {rows.map(({ id, fileFiles: [file] }) => (
          <li key={id} className="row">
            <a
              className="grow"
              download
              href={addressOf("extensions/{extensionId}/attachments/{attachmentId}/file", {
                ...params,
                attachmentId: id,
              })}
            >
              {file?.fileName || id}
            </a>
            {file && <span className="soft">{sizeWords(file.size)}</span>}
            {mayChange && (
              <RemoveButton
                route="extensions/{extensionId}/attachments/{attachmentId}"
                params={{ ...params, attachmentId: id }}
                id={id}
                name={file?.fileName || id}
              />
            )}
          </li>
        ))}
      </ul>
      {mayChange && <DropZone label={t("plugin.drop")} busy={adding.isPending} onFile={adding.mutate} />}
    </section>
  );
}
