import type { ExtensionRow } from "../../api/rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { Chip } from "../../ui/status-chip.tsx";

/** Who signed an installed plugin, and where it connects to; nothing for plugins that come with the product. */
export function PluginOrigin({ row }: { row: ExtensionRow }) {
  const { t } = useTranslation();
  const { installation } = row;
  if (!installation) return null;
  const { version, signedBy } = installation;
  const targets = [
    ...(installation.hosts ?? []),
    ...(installation.settings ?? []).map((name) => t("plugin.target-setting", { name })),
    ...(installation.deviceAttributes ?? []).map((name) => t("plugin.target-attribute", { name })),
  ];
  return (
    <section className="stack">
      <div className="row">
        <Chip tone={signedBy ? "ok" : "warn"}>{signedBy ? t("plugin.signed") : t("plugin.unsigned")}</Chip>
        <span className="grow">
          {signedBy
            ? t("plugin.installed-signed", { version, publisher: signedBy })
            : t("plugin.installed-unsigned", { version })}
        </span>
      </div>
      <p className="soft">
        {targets.length > 0
          ? t("plugin.connects-to", { targets: targets.join(", ") })
          : t("plugin.connects-to-nothing")}
      </p>
    </section>
  );
}
