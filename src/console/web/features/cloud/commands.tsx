import { Button, Select } from "@mantine/core";
import { useState } from "react";
import { ENDPOINT_ORDER_TYPES } from "../../../../resources/devices/endpoint-activity-types.ts";
import type { EndpointActivityRow } from "../../api/identity-rows.ts";
import type { ApplianceRow } from "../../api/link-rows.ts";
import { useAppliance, useChange, useRows } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useWords } from "../../i18n/use-translation.tsx";
import { FaultLine } from "../../ui/error-line.tsx";
import { Moment } from "../../ui/timestamp.tsx";
import { StateChip } from "./command-state.tsx";
import { wordsOf } from "./command-text.ts";
import "../../ui/input-styles.ts";

const ROUTE = "extensions/{extensionId}/endpoints/{endpointId}/activities";
const MOST_SHOWN = 30;
/** Where a UUID says what it was made of. @source RFC 9562 4.2 */
const VERSION_AT = 14;

/** Gives an appliance orders, and shows what became of each. */
export function Orders({ row: { endpointId, link } }: { row: ApplianceRow }) {
  const { t, name } = useWords();
  const { client, say } = useConsole();
  const [type, setType] = useState<string>("backup");
  const params = { extensionId: useAppliance()?.extensionId ?? "", endpointId };
  const found = useRows<EndpointActivityRow>(
    ROUTE,
    params,
    { types: [...ENDPOINT_ORDER_TYPES], sort: "-createdAt", limit: MOST_SHOWN },
    { enabled: params.extensionId !== "" },
  );
  const giving = useChange<void, void>("endpoint-activities", async () => {
    await client.post(ROUTE, params, { type });
    say(t("appliances.given"));
  });
  const orders = (found.data?.data ?? []).filter(({ id }) => isOrder(id));
  return (
    <div className="stack">
      <div className="row end">
        <Select
          label={t("appliances.order")}
          description={name("order-hint", type)}
          allowDeselect={false}
          data={ENDPOINT_ORDER_TYPES.map((value) => ({ value, label: name("order", value) }))}
          value={type}
          onChange={(chosen) => setType(chosen ?? type)}
        />
        <Button loading={giving.isPending} disabled={params.extensionId === ""} onClick={() => giving.mutate()}>
          {t("appliances.give")}
        </Button>
      </div>
      {link !== "linked" && <p className="soft">{t("appliances.away-hint")}</p>}
      <FaultLine error={giving.error ?? found.error} />
      {found.data && orders.length === 0 && <p className="soft">{t("appliances.no-orders")}</p>}
      <ul className="plain lined" aria-live="polite" aria-label={t("appliances.orders")}>
        {orders.map((order) => (
          <li key={order.id} className="row">
            <StateChip state={order.state} />
            <strong>{name("order", order.type)}</strong>
            <Moment at={order.createdAt} />
            <span className="grow soft">{wordsOf(order.value)}</span>
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
