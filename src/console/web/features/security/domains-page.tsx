import { Button } from "@mantine/core";
import type { DomainRow } from "../../api/security-rows.ts";
import { useRows } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { useTableSearch } from "../../ui/list/use-table-search.ts";
import { NEW, RowSheet } from "../../ui/row-sheet.tsx";
import { SectionTabs } from "../../ui/section-tabs.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { DomainMembers } from "./domain-members.tsx";
import { type DomainNode, domainTree, flattenDomainTree } from "./domain-tree.ts";
import "../../ui/lines.css";
import "./domains.css";
import { PageTitle } from "../../ui/page-title.tsx";

/** The tree of domains (200 at most) with their contents. */
export default function DomainsPage() {
  const { t } = useTranslation();
  const [{ open }, show] = useTableSearch();
  const domains = useRows<DomainRow>("domains", {}, { limit: 1_000, sort: "namePath" });
  const tree = domainTree(domains.data?.data ?? []);
  const close = () => show({ open: undefined });
  return (
    <div className="page">
      <SectionTabs of="people" />
      <div className="head">
        <PageTitle>{t("domain.title")}</PageTitle>
        <span className="space" />
        <Button onClick={() => show({ open: NEW })}>{t("domain.add")}</Button>
      </div>
      <p className="soft">{t("domain.intro")}</p>
      <ErrorLine error={domains.error} />
      <nav className="card" aria-label={t("domain.tree")}>
        <Branch nodes={tree} onOpen={(id) => show({ open: id })} />
      </nav>
      {open && <DomainSheet key={open} domainId={open} tree={tree} onClose={close} />}
    </div>
  );
}

function Branch({ nodes, onOpen }: { nodes: readonly DomainNode[]; onOpen: (id: string) => void }) {
  const { t } = useTranslation();
  const { acting } = useConsole();
  if (nodes.length === 0) return null;
  return (
    <ul className="branch">
      {nodes.map(({ row, below }) => (
        <li key={row.id}>
          <span className="row">
            <button type="button" className="open" onClick={() => onOpen(row.id)}>
              {row.name}
            </button>
            {acting.domainId === row.id && <Chip tone="good">{t("domain.acting")}</Chip>}
          </span>
          <Branch nodes={below} onOpen={onOpen} />
        </li>
      ))}
    </ul>
  );
}

interface DomainSheetProps {
  domainId: string;
  tree: readonly DomainNode[];
  onClose(): void;
}

function DomainSheet({ domainId, tree, onClose }: DomainSheetProps) {
  const { t } = useTranslation();
  const isNew = domainId === NEW;
  const choices = flattenDomainTree(tree).map(({ row, depth }) => ({
    value: row.id,
    label: `${"\u2003".repeat(depth)}${row.name}`,
  }));
  return (
    <RowSheet
      id={domainId}
      item="domains/{domainId}"
      newTitle={t("domain.add")}
      onClose={onClose}
      fields={[
        { name: "name", hint: t("domain.name-hint") },
        ...(isNew ? [{ name: "parentId", kind: "choice" as const, choices }] : []),
      ]}
      tabs={[{ id: "members", label: t("domain.members"), content: <DomainMembers domainId={domainId} tree={tree} /> }]}
    >
      <p className="soft">{t("domain.remove-hint")}</p>
    </RowSheet>
  );
}
