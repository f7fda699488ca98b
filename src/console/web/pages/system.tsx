import { Button } from "@mantine/core";
import type { JsonSchema } from "../api/client.ts";
import type { ExtensionRow } from "../api/rows.ts";
import { useAppliance, useChange, useRows, useSchemas } from "../api/use-rows.ts";
import { useConsole } from "../console-context.tsx";
import { FaultLine } from "../parts/fault-line.tsx";
import { Form } from "../parts/form.tsx";
import { fieldsOf } from "../parts/form-fields.ts";
import { HealthCard } from "../parts/health-card.tsx";
import { Chip } from "../parts/level-chip.tsx";
import { SideSheet } from "../parts/side-sheet.tsx";
import { useTableSearch } from "../list/use-table-search.ts";
import { useWords } from "../words/use-words.tsx";

/** Is the box safe: health with its reasons, and what extends it. */
export default function SystemPage() {
  const { t } = useWords();
  const [{ open }, showPart] = useTableSearch();
  const extensions = useRows<ExtensionRow>("extensions", {}, { limit: 100 });
  const plugins = extensions.data?.data.filter(({ status }) => status !== null) ?? [];
  const show = (id: string | undefined) => showPart({ open: id });
  const opened = plugins.find(({ id }) => id === open);
  return (
    <div className="page">
      <h1>{t("rail.system")}</h1>
      <HealthSection />
      <section className="card">
        <h2>{t("system.extensions")}</h2>
        <FaultLine error={extensions.error} />
        <ul className="plain">
          {plugins.map((row) => (
            <li key={row.id} className="row">
              <button type="button" className="tile" onClick={() => show(row.id)}>
                {row.name}
                <small>{t("system.settings")}</small>
              </button>
              <ExtensionState row={row} />
              {row.status?.reason && <span>{row.status.reason}</span>}
            </li>
          ))}
        </ul>
      </section>
      {opened && <ExtensionSheet row={opened} onClose={() => show(undefined)} />}
    </div>
  );
}

function HealthSection() {
  const { t } = useWords();
  const appliance = useAppliance();
  return (
    <HealthCard>
      {appliance && (
        <p className="soft">
          {t("system.build", { name: appliance.name ?? "–", version: appliance.buildInfo?.version ?? "–" })}
        </p>
      )}
    </HealthCard>
  );
}

function ExtensionState({ row }: { row: ExtensionRow }) {
  const { name } = useWords();
  const state = row.status?.state ?? "absent";
  const health = row.status?.health ?? "down";
  const tone = state === "running" ? (health === "ok" ? "good" : "warn") : state === "disabled" ? "" : "bad";
  return <Chip tone={tone}>{name("plugin", state === "running" && health !== "ok" ? health : state)}</Chip>;
}

function ExtensionSheet({ row, onClose }: { row: ExtensionRow; onClose: () => void }) {
  const { t } = useWords();
  const { client, say } = useConsole();
  const schemas = useSchemas();
  const change = useChange("extensions", async (body: Record<string, unknown>) => {
    await client.put("extensions/{extensionId}", { extensionId: row.id }, body);
    say(t("saved"));
  });
  const schema: JsonSchema | undefined = schemas.data?.extensions[row.id];
  return (
    <SideSheet title={row.name} onClose={onClose}>
      <div className="stack">
        <div className="row">
          <ExtensionState row={row} />
          <span className="space" />
          <Button
            variant="default"
            loading={change.isPending}
            onClick={() => change.mutate({ disabled: !row.disabled })}
          >
            {row.disabled ? t("system.enable") : t("system.disable")}
          </Button>
        </div>
        {row.status?.reason && <p className="fault">{row.status.reason}</p>}
        <h2>{t("system.settings")}</h2>
        <FaultLine error={schemas.error} />
        {schema && (
          <Form
            key={JSON.stringify(row.config)}
            fields={fieldsOf(schema)}
            before={row.config}
            pending={change.isPending}
            error={change.error}
            onSave={(config) => change.mutate({ config: { ...row.config, ...config } })}
          />
        )}
      </div>
    </SideSheet>
  );
}
