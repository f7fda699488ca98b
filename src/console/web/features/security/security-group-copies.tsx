import { Button, MultiSelect } from "@mantine/core";
import { useState } from "react";
import type { SecurityGroupRow } from "../../api/identity-rows.ts";
import { useChange } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useWords } from "../../i18n/use-translation.tsx";
import { FaultLine } from "../../ui/error-line.tsx";
import { useTableSearch } from "../../ui/list/use-table-search.ts";
import { useDomains } from "./domain-select.tsx";
import "../../ui/input-styles.ts";

/** Copies of a security group: one beside it, or one in each of some domains. */
export function GroupCopies({ securityGroupId }: { securityGroupId: string }) {
  const { t } = useWords();
  return (
    <section className="stack below">
      <h3>{t("security.copies")}</h3>
      <p className="soft">{t("security.clone-hint")}</p>
      <CloneButton securityGroupId={securityGroupId} />
      <CloneToDomains securityGroupId={securityGroupId} />
    </section>
  );
}

function CloneButton({ securityGroupId }: { securityGroupId: string }) {
  const { t } = useWords();
  const { client, say } = useConsole();
  const [, show] = useTableSearch();
  const clone = useChange<void, void>("security-groups", async () => {
    const made = await client.post<SecurityGroupRow>(
      "security-groups/{securityGroupId}/clone",
      { securityGroupId },
      {},
    );
    say(t("security.cloned", { name: made.name }));
    show({ open: made.id });
  });
  return (
    <>
      <div>
        <Button variant="default" loading={clone.isPending} onClick={() => clone.mutate()}>
          {t("security.clone")}
        </Button>
      </div>
      <FaultLine error={clone.error} />
    </>
  );
}

/** Not there where no domains are to choose from. */
function CloneToDomains({ securityGroupId }: { securityGroupId: string }) {
  const { t } = useWords();
  const { client, say } = useConsole();
  const [domainIds, setDomainIds] = useState<string[]>([]);
  const domains = useDomains();
  const clone = useChange<void, void>("security-groups", async () => {
    const made = await client.post<{ copiedSecurityGroups: readonly { id: string }[] }>(
      "security-groups/{securityGroupId}/clone-to-domains",
      { securityGroupId },
      { domainIds },
    );
    say(t("security.cloned-to", { n: made.copiedSecurityGroups.length }));
    setDomainIds([]);
  });
  if (domains.length < 2) return null;
  return (
    <>
      <div className="row end">
        <MultiSelect
          label={t("security.clone-to")}
          placeholder={domainIds.length === 0 ? t("security.choose-domains") : ""}
          searchable
          data={domains.map(({ id, namePath, name }) => ({ value: id, label: namePath ?? name }))}
          value={domainIds}
          onChange={setDomainIds}
          flex="1 1 14rem"
        />
        <Button
          variant="default"
          disabled={domainIds.length === 0}
          loading={clone.isPending}
          onClick={() => clone.mutate()}
        >
          {t("security.clone-to-go")}
        </Button>
      </div>
      <FaultLine error={clone.error} />
    </>
  );
}
