import { Button, NumberInput } from "@mantine/core";
import { useState } from "react";
import { useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { SideSheet } from "../../ui/side-sheet.tsx";
import "../../ui/input-styles.ts";

/** What the API takes, with what it is unless told. */
const FIELDS = {
  firstWave: { usual: 1, min: 1, max: 1_000 },
  waveSize: { usual: 5, min: 1, max: 1_000 },
  growth: { usual: 2, min: 1, max: 10 },
  timeLimit: { usual: 60, min: 1, max: 1_440 },
  steadyTime: { usual: 60, min: 0, max: 86_400 },
} as const;
const NAMES = Object.keys(FIELDS) as (keyof typeof FIELDS)[];

interface UpgradeFormProps {
  version: string;
  /** In the order of their turns; none for all that may connect. */
  endpointIds: readonly string[];
  onClose(): void;
}

/** How large waves are, and how long is waited; then it begins. */
export function UpgradeForm({ version, endpointIds, onClose }: UpgradeFormProps) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const [values, setValues] = useState<Readonly<Partial<Record<keyof typeof FIELDS, number>>>>({});
  const beginning = useRowMutation<void, void>("appliance-upgrades", async () => {
    const chosen = endpointIds.length > 0 ? { endpointIds } : {};
    await client.post("appliance-upgrades", {}, { ...values, ...chosen });
    notify(t("upgrade.begun"));
    onClose();
  });
  const title = t("upgrade.begin");
  return (
    <SideSheet title={title} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          beginning.mutate();
        }}
      >
        <p>
          {endpointIds.length > 0
            ? t("upgrade.of-chosen", { count: endpointIds.length, version })
            : t("upgrade.of-all", { version })}
        </p>
        <p className="soft">{t("upgrade.intro")}</p>
        {NAMES.map((name) => (
          <NumberInput
            key={name}
            label={t(`upgrade.${name}`)}
            description={t(`upgrade.${name}-hint`)}
            allowDecimal={false}
            min={FIELDS[name].min}
            max={FIELDS[name].max}
            value={values[name] ?? FIELDS[name].usual}
            onChange={(value) => setValues({ ...values, [name]: typeof value === "number" ? value : undefined })}
          />
        ))}
        <ErrorLine error={beginning.error} />
        <Button type="submit" loading={beginning.isPending}>
          {t("upgrade.begin-now")}
        </Button>
      </form>
    </SideSheet>
  );
}
