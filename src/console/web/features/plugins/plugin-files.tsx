import { routeUrl } from "../../api/routes.ts";
import type { ExtensionRow } from "../../api/rows.ts";
import type { ExtensionFileRow } from "../../api/upload-rows.ts";
import { useRowMutation, useRows } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { DropZone } from "../../ui/drop-zone.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { RemoveButton } from "../../ui/remove-button.tsx";
import { sizeText } from "../uploads/upload-text.ts";

/** Files of a plugin, such as a certificate or a key. */
export function PluginFiles({ row }: { row: ExtensionRow }) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const params = { extensionId: row.id };
  const files = useRows<ExtensionFileRow>("extensions/{extensionId}/attachments", params, { limit: 100 });
  const adding = useRowMutation<File, void>("extension-attachments", async (file) => {
    const form = new FormData();
    form.set("file", file);
    await client.post("extensions/{extensionId}/attachments", params, form);
    notify(t("saved"));
  });
  const rows = files.data?.data ?? [];
  const mayChange = row.permissions.includes("put");
  return (
    <section className="stack">
      <ErrorLine error={files.error ?? adding.error} />
      {files.data && rows.length === 0 && <p className="soft">{t("plugin.no-files")}</p>}
      <ul className="plain lined">
        {rows.map(({ id, fileFiles: [file] }) => (
          <li key={id} className="row">
            <a
              className="grow"
              download
              href={routeUrl("extensions/{extensionId}/attachments/{attachmentId}/file", {
                ...params,
                attachmentId: id,
              })}
            >
              {file?.fileName || id}
            </a>
            {file && <span className="soft">{sizeText(file.size)}</span>}
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
