import { Button, Select } from "@mantine/core";
import { useState } from "react";
import { ENDPOINT_COMMAND_TYPES } from "../../../../resources/devices/endpoint-activity-types.ts";
import { useAppliance, useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import "../../ui/input-styles.ts";

const AT_ONCE = 8;
/** Upgrades of many go in waves. */
const GIVEN_AT_ONCE = ENDPOINT_COMMAND_TYPES.filter((type) => type !== "upgrade" && type !== "upgrade-all");

/** Gives the same order to all that are ticked. */
export function BulkCommands({ chosen, onGiven }: { chosen: ReadonlySet<string>; onGiven(): void }) {
  const { t, name } = useTranslation();
  const { client, notify } = useConsole();
  const [type, setType] = useState<string>("backup");
  const extensionId = useAppliance()?.extensionId ?? "";
  const route = "extensions/{extensionId}/endpoints/{endpointId}/activities";
  const giving = useRowMutation<void, void>("endpoint-activities", async () => {
    const left = [...chosen];
    const giveNext = async (): Promise<void> => {
      for (let id = left.pop(); id !== undefined; id = left.pop())
        await client.post(route, { extensionId, endpointId: id }, { type });
    };
    await Promise.all(Array.from({ length: AT_ONCE }, giveNext));
    notify(t("appliances.given-many", { count: chosen.size }));
    onGiven();
  });
  return (
    <>
      <div className="row end">
        <Select
          label={t("appliances.order")}
          description={name("command-hint", type)}
          allowDeselect={false}
          data={GIVEN_AT_ONCE.map((value) => ({ value, label: name("command", value) }))}
          value={type}
          onChange={(given) => setType(given ?? type)}
        />
        <Button
          variant="default"
          loading={giving.isPending}
          disabled={chosen.size === 0 || extensionId === ""}
          onClick={() => giving.mutate()}
        >
          {t("appliances.give-many", { count: chosen.size })}
        </Button>
      </div>
      <ErrorLine error={giving.error} />
    </>
  );
}
