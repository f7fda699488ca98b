import { Button, Select } from "@mantine/core";
import { useState } from "react";
import { ENDPOINT_COMMAND_TYPES } from "../../../../resources/devices/endpoint-activity-types.ts";
import type { EndpointActivityRow } from "../../api/identity-rows.ts";
import type { ApplianceRow } from "../../api/link-rows.ts";
import { useAppliance, useRowMutation, useRows } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import { CommandStateChip } from "./command-state.tsx";
import { commandResultText } from "./command-text.ts";
import "../../ui/input-styles.ts";

const ROUTE = "extensions/{extensionId}/endpoints/{endpointId}/activities";
const MAX_SHOWN = 30;
/** Where a UUID says what it was made of. @source RFC 9562 4.2 */
const VERSION_AT = 14;

/** Gives an appliance orders, and shows what became of each. */
export function ApplianceCommands({ row: { endpointId, link } }: { row: ApplianceRow }) {
  const translator = useTranslation();
  const { t, name } = translator;
  const { client, notify } = useConsole();
  const [type, setType] = useState<string>("backup");
  const params = { extensionId: useAppliance()?.extensionId ?? "", endpointId };
  const found = useRows<EndpointActivityRow>(
    ROUTE,
    params,
    { types: [...ENDPOINT_COMMAND_TYPES], sort: "-createdAt", limit: MAX_SHOWN },
    { enabled: params.extensionId !== "" },
  );
  const giving = useRowMutation<void, void>("endpoint-activities", async () => {
    await client.post(ROUTE, params, { type });
    notify(t("appliances.given"));
  });
  const orders = (found.data?.data ?? []).filter(({ id }) => isOrder(id));
  return (
    <div className="stack">
      <div className="row end">
        <Select
          label={t("appliances.order")}
          description={name("command-hint", type)}
          allowDeselect={false}
          data={ENDPOINT_COMMAND_TYPES.map((value) => ({ value, label: name("command", value) }))}
          value={type}
          onChange={(chosen) => setType(chosen ?? type)}
        />
        <Button loading={giving.isPending} disabled={params.extensionId === ""} onClick={() => giving.mutate()}>
          {t("appliances.give")}
        </Button>
      </div>
      {link !== "linked" && <p className="soft">{t("appliances.away-hint")}</p>}
      <ErrorLine error={giving.error ?? found.error} />
      {found.data && orders.length === 0 && <p className="soft">{t("appliances.no-orders")}</p>}
      <ul className="plain lined" aria-live="polite" aria-label={t("appliances.orders")}>
        {orders.map((order) => (
          <li key={order.id} className="row">
            <CommandStateChip state={order.state} />
            <strong>{name("command", order.type)}</strong>
            <Timestamp at={order.createdAt} />
            <span className="grow soft">{commandResultText(order, translator)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** What an appliance sums up by the hour is of the same kinds, under ids that follow from what it is about. */
function isOrder(id: string): boolean {
  return id.charAt(VERSION_AT) === "7";
}
