import { Modal } from "@mantine/core";
import type { ReactNode } from "react";
import { useTranslation } from "../i18n/use-translation.tsx";

/** A question or a search before the page. Its head is no `header`: the page has one banner. */
export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ReactNode }) {
  const { t } = useTranslation();
  return (
    <Modal.Root opened onClose={onClose}>
      <Modal.Overlay />
      <Modal.Content bg="var(--card)">
        <div className="sheet-head">
          <Modal.Title>{title}</Modal.Title>
          <Modal.CloseButton aria-label={t("close")} />
        </div>
        <Modal.Body>{children}</Modal.Body>
      </Modal.Content>
    </Modal.Root>
  );
}
