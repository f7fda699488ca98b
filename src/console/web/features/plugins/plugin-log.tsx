import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { PluginLogLine } from "../../api/identity-rows.ts";
import { useTrackedQuery } from "../../api/page-queries.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { SegmentedChoice } from "../../ui/segmented-choice.tsx";
import { Chip } from "../../ui/status-chip.tsx";

const LINES = 200;
const PAUSE_MS = 2_000;
const TONES: Readonly<Record<string, string>> = { warn: "warn", error: "bad" };
const CHOICES = ["all", "trouble"] as const;

/** Log of a plugin, newest first, followed live. */
export function PluginLog({ extensionId }: { extensionId: string }) {
  const { t, name, language } = useTranslation();
  const { client, feed } = useConsole();
  const [shown, setShown] = useState<(typeof CHOICES)[number]>("all");
  const log = useTrackedQuery(
    useQuery({
      queryKey: ["extensions", extensionId, "log"],
      queryFn: () =>
        client.get<{ data: PluginLogLine[] }>("extensions/{extensionId}/log", { extensionId }, { limit: LINES }),
      refetchInterval: feed.live ? PAUSE_MS : false,
      staleTime: 0,
    }),
  );
  const time = new Intl.DateTimeFormat(language, { timeStyle: "medium" });
  const lines = (log.data?.data ?? []).filter(({ level }) => shown === "all" || level in TONES).reverse();
  return (
    <section className="stack" aria-label={t("plugin.log")}>
      <SegmentedChoice<(typeof CHOICES)[number]>
        label={t("plugin.log-shown")}
        value={shown}
        choices={CHOICES.map((value) => ({ value, label: name("plugin.log", value) }))}
        onChange={setShown}
      />
      <ErrorLine error={log.error} />
      {log.data && lines.length === 0 && <p className="soft">{t("plugin.log-none")}</p>}
      <ol className="log">
        {lines.map((line) => (
          <li key={line.seq}>
            <div className="row">
              <time dateTime={line.at}>{time.format(new Date(line.at))}</time>
              <Chip tone={TONES[line.level] ?? ""}>{name("log-level", line.level)}</Chip>
              <span>{line.message}</span>
            </div>
            {line.details && <code>{line.details}</code>}
          </li>
        ))}
      </ol>
      <p className="soft">{t("plugin.log-kept")}</p>
    </section>
  );
}
