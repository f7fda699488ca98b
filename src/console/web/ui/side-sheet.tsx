import { Drawer } from "@mantine/core";
import type { ReactNode } from "react";
import { useTranslation } from "../i18n/use-translation.tsx";
import "@mantine/core/styles/Drawer.css";

interface SideSheetProps {
  title: string;
  wide?: boolean;
  onClose(): void;
  children: ReactNode;
}

/**
 * Details of a row beside the list; a click outside does not discard input. Its head is no `header`, since the page
 * has one banner.
 */
export function SideSheet({ title, onClose, wide = false, children }: SideSheetProps) {
  const { t } = useTranslation();
  return (
    <Drawer.Root opened onClose={onClose} position="right" size={wide ? "56rem" : "lg"} closeOnClickOutside={false}>
      <Drawer.Overlay backgroundOpacity={0.35} />
      <Drawer.Content bg="var(--card)">
        <div className="sheet-head">
          <Drawer.Title>{title}</Drawer.Title>
          <Drawer.CloseButton aria-label={t("close")} />
        </div>
        <Drawer.Body>{children}</Drawer.Body>
      </Drawer.Content>
    </Drawer.Root>
  );
}
