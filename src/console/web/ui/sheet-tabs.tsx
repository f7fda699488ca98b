import { Tabs } from "@mantine/core";
import { type ReactNode, useState } from "react";
import "@mantine/core/styles/Tabs.css";
import "./lines.css";

/** A room of a sheet; drawn only while it is open. */
export interface SheetTab {
  id: string;
  label: string;
  content: ReactNode;
}

/** The rooms of a side sheet; arrow keys move between them. */
export function SheetTabs({ label, tabs }: { label: string; tabs: readonly SheetTab[] }) {
  const [at, setAt] = useState<string | null>(tabs[0]?.id ?? null);
  return (
    <Tabs value={at} onChange={setAt} keepMounted={false}>
      <Tabs.List aria-label={label} mb="md" className="sheet-tabs">
        {tabs.map((tab) => (
          <Tabs.Tab key={tab.id} value={tab.id}>
            {tab.label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {tabs.map((tab) => (
        <Tabs.Panel key={tab.id} value={tab.id}>
          {tab.content}
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
