import type { TemplateRow } from "../../api/rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { LinkedRows } from "../../ui/linked-rows.tsx";

/** The templates that members of a security group are bound to. */
export function AllowedTemplates({ securityGroupId }: { securityGroupId: string }) {
  const { t } = useTranslation();
  const { client } = useConsole();
  const route = "security-groups/{securityGroupId}/allowed-message-templates";
  return (
    <LinkedRows<TemplateRow>
      route={route}
      params={{ securityGroupId }}
      query={{ sort: "name" }}
      from="message-templates"
      idOf={({ id }) => id}
      nameOf={({ name }) => name}
      tie={(id) => client.post(route, { securityGroupId }, { id })}
      untie={(allowedMessageTemplateId) =>
        client.remove(`${route}/{allowedMessageTemplateId}`, { securityGroupId, allowedMessageTemplateId })
      }
      words={{
        none: t("allowed.none"),
        some: t("allowed.intro"),
        add: t("allowed.add"),
        choose: t("allowed.choose"),
        untied: (name) => t("allowed.taken", { name }),
        untie: (name) => t("allowed.take-named", { name }),
      }}
    />
  );
}
