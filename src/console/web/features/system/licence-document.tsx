import { Button } from "@mantine/core";
import { useState } from "react";
import { useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { FileField } from "../../ui/file-field.tsx";

/** A licence document in, or out again. */
export function LicenceDocument({ isThere }: { isThere: boolean }) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const [file, setFile] = useState<File | null>(null);
  const change = useRowMutation<string | null, void>("devices", async (document) => {
    if (document === null) await client.remove("licence");
    else await client.put("licence", {}, { document });
    notify(t("saved"));
  });
  return (
    <>
      <FileField
        id="licence-document"
        label={t("licence.document")}
        required={false}
        error={null}
        accept={[".licence", ".json"]}
        value={file}
        onChange={setFile}
      />
      <ErrorLine error={change.error} />
      <div className="row">
        <Button
          disabled={!file}
          loading={change.isPending}
          onClick={() => void file?.text().then((document) => change.mutate(document))}
        >
          {t("licence.install")}
        </Button>
        {isThere && (
          <Button variant="default" loading={change.isPending} onClick={() => change.mutate(null)}>
            {t("licence.remove")}
          </Button>
        )}
      </div>
    </>
  );
}
