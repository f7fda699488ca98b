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

/** What a row opens, beside the list that stays; a stray click does not throw away what was typed. Its head is no `header`: the page has one banner. */
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
