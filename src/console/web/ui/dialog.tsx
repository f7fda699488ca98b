import { CloseButton } from "@mantine/core";
import { type ReactNode, useId, useLayoutEffect, useRef } from "react";
import { createPortal } from "react-dom";
import { useTranslation } from "../i18n/use-translation.tsx";
import "./dialog.css";

interface DialogProps {
  title: ReactNode;
  /** Class beside that of all dialogs. */
  className?: string;
  /** Not given for what must be answered. */
  onClose?(): void;
  children: ReactNode;
}

/**
 * A question or a search before the page: the browser's own modal dialog, which keeps the focus in it and gives it back.
 * The focus starts at what has `data-autofocus`. Its head is no `header`: the page has one banner.
 */
export function Dialog({ title, className, onClose, children }: DialogProps) {
  const { t } = useTranslation();
  const titleId = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    element?.querySelector<HTMLElement>("[data-autofocus]")?.focus();
    return () => element?.close();
  }, []);
  return createPortal(
    // biome-ignore lint/a11y/useKeyWithClickEvents: the browser closes it by the Escape key
    <dialog
      ref={dialog}
      className={className ? `dialog ${className}` : "dialog"}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
      // Only its backdrop is the dialog itself: the content fills the rest.
      onClick={(event) => event.target === event.currentTarget && onClose?.()}
    >
      <div className="sheet-head">
        <h2 id={titleId}>{title}</h2>
        {onClose && <CloseButton size="lg" aria-label={t("close")} onClick={onClose} />}
      </div>
      <div className="dialog-body">{children}</div>
    </dialog>,
    document.body,
  );
}
