import { Button, MultiSelect } from "@mantine/core";
import { useState } from "react";
import type { SecurityGroupRow } from "../../api/identity-rows.ts";
import { useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { useTableSearch } from "../../ui/list/use-table-search.ts";
import { useDomains } from "./domain-select.tsx";
import "../../ui/input-styles.ts";

/** Copies of a security group, in the same domain or in others. */
export function SecurityGroupCopies({ securityGroupId }: { securityGroupId: string }) {
  const { t } = useTranslation();
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
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const [, show] = useTableSearch();
  const clone = useRowMutation<void, void>("security-groups", async () => {
    const made = await client.post<SecurityGroupRow>(
      "security-groups/{securityGroupId}/clone",
      { securityGroupId },
      {},
    );
    notify(t("security.cloned", { name: made.name }));
    show({ open: made.id });
  });
  return (
    <>
      <div>
        <Button variant="default" loading={clone.isPending} onClick={() => clone.mutate()}>
          {t("security.clone")}
        </Button>
      </div>
      <ErrorLine error={clone.error} />
    </>
  );
}

/** Not there where no domains are to choose from. */
function CloneToDomains({ securityGroupId }: { securityGroupId: string }) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const [domainIds, setDomainIds] = useState<string[]>([]);
  const domains = useDomains();
  const clone = useRowMutation<void, void>("security-groups", async () => {
    const made = await client.post<{ copiedSecurityGroups: readonly { id: string }[] }>(
      "security-groups/{securityGroupId}/clone-to-domains",
      { securityGroupId },
      { domainIds },
    );
    notify(t("security.cloned-to", { count: made.copiedSecurityGroups.length }));
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
      <ErrorLine error={clone.error} />
    </>
  );
}
