import { Button } from "@mantine/core";
import { useState } from "react";
import type { TemplateRow } from "../api/rows.ts";
import { useChange, useRows } from "../api/use-rows.ts";
import { useConsole } from "../console-context.tsx";
import { FaultLine } from "../parts/fault-line.tsx";
import { RowChoice } from "../parts/row-choice.tsx";
import { useWords } from "../words/use-words.tsx";

/** The templates that members of a security group are bound to. */
export function AllowedTemplates({ securityGroupId }: { securityGroupId: string }) {
  const { t } = useWords();
  const { client, say } = useConsole();
  const [chosen, setChosen] = useState<string | null>(null);
  const allowed = useRows<TemplateRow>(
    "security-groups/{securityGroupId}/allowed-message-templates",
    { securityGroupId },
    { limit: 1_000, sort: "name" },
  );
  const allow = useChange("security-groups", async (id: string) => {
    await client.post("security-groups/{securityGroupId}/allowed-message-templates", { securityGroupId }, { id });
    setChosen(null);
    say(t("saved"));
  });
  const forbid = useChange("security-groups", async ({ id, name }: TemplateRow) => {
    await client.remove("security-groups/{securityGroupId}/allowed-message-templates/{allowedMessageTemplateId}", {
      securityGroupId,
      allowedMessageTemplateId: id,
    });
    say(t("allowed.taken", { name }), () => allow.mutate(id));
  });
  const rows = allowed.data?.data ?? [];
  return (
    <section className="stack">
      <FaultLine error={allowed.error ?? forbid.error} />
      <p className="soft">{t(allowed.data?.total === 0 ? "allowed.none" : "allowed.words")}</p>
      <ul className="plain lined">
        {rows.map((row) => (
          <li key={row.id} className="row">
            <strong className="grow">{row.name}</strong>
            <Button
              variant="default"
              size="compact-sm"
              loading={forbid.isPending && forbid.variables.id === row.id}
              aria-label={t("allowed.take-named", { name: row.name })}
              onClick={() => forbid.mutate(row)}
            >
              {t("remove")}
            </Button>
          </li>
        ))}
      </ul>
      <div className="row end">
        <div className="grow">
          <RowChoice
            label={t("allowed.add")}
            placeholder={t("allowed.choose")}
            route="message-templates"
            without={new Set(rows.map(({ id }) => id))}
            value={chosen}
            onChange={setChosen}
          />
        </div>
        <Button disabled={!chosen} loading={allow.isPending} onClick={() => chosen && allow.mutate(chosen)}>
          {t("add")}
        </Button>
      </div>
      <FaultLine error={allow.error} />
    </section>
  );
}
