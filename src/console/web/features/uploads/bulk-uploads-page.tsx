import { UPLOAD_TYPES } from "../../../../resources/uploads/bulk-uploads.ts";
import type { UploadRow } from "../../api/upload-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ListPage } from "../../ui/list/list-page.tsx";
import { NEW } from "../../ui/row-sheet.tsx";
import { SideSheet } from "../../ui/side-sheet.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import { NewUpload } from "./new-upload.tsx";
import { UploadSheet } from "./upload-sheet.tsx";
import { uploadTone } from "./upload-text.ts";

const STATES = ["RUNNING", "success", "COMPLETE", "ERROR", "PENDING"] as const;

/** Tables of rows that are made together. */
export default function BulkUploadsPage() {
  const { t, name } = useTranslation();
  return (
    <ListPage<UploadRow>
      tabs="system"
      title={t("upload.title")}
      add={t("upload.add")}
      none={t("upload.none")}
      route="bulk-uploads"
      sort="-createdAt"
      opener={{ head: t("upload.file"), sort: null, text: (row) => row.fileName ?? t("upload.no-file") }}
      filters={[
        {
          name: "status",
          label: t("field.status"),
          choices: STATES.map((value) => ({ value, label: name("upload-status", value) })),
        },
      ]}
      columns={[
        { id: "type", head: t("upload.kind"), width: "1.7fr", cell: (row) => name("upload-type", row.resourceType) },
        {
          id: "status",
          head: t("field.status"),
          width: "9rem",
          side: true,
          cell: (row) => <Chip tone={uploadTone(row)}>{name("upload-status", row.status)}</Chip>,
        },
        { id: "percentage", head: t("upload.read"), width: "5rem", named: true, cell: (row) => `${row.percentage} %` },
        { id: "lines", head: t("upload.lines"), width: "6rem", named: true, cell: (row) => String(row.lineCount) },
        { id: "errors", head: t("upload.faults"), width: "6rem", named: true, cell: (row) => String(row.errorCount) },
        {
          id: "at",
          head: t("upload.at"),
          width: "9.5rem",
          sort: "createdAt",
          cell: (row) => <Timestamp at={row.createdAt} />,
        },
      ]}
      sheet={(id, onClose) =>
        id === NEW ? (
          <SideSheet title={t("upload.add")} onClose={onClose}>
            <NewUpload kinds={UPLOAD_TYPES} />
          </SideSheet>
        ) : (
          <UploadSheet key={id} bulkUploadId={id} onClose={onClose} />
        )
      }
    />
  );
}
