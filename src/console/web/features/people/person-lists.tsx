import { Button, Select, TextInput } from "@mantine/core";
import { useState } from "react";
import type { SubscriptionRow } from "../../api/identity-rows.ts";
import type { DistributionListRow } from "../../api/rows.ts";
import { useRowMutation, useRows } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { endOfDay, lastDayOf } from "../../ui/local-time.ts";
import "../../ui/input-styles.ts";

/** The lists that a person is on, until when, and how to get on another. */
export function PersonLists({ userId }: { userId: string }) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const [chosen, setChosen] = useState<string | null>(null);
  const subscriptions = useRows<SubscriptionRow>("users/{userId}/subscriptions", { userId }, { limit: 1_000 });
  const lists = useRows<DistributionListRow>("distribution-lists", {}, { limit: 1_000, sort: "name" });
  const on = new Set(subscriptions.data?.data.map(({ distributionListId }) => distributionListId));
  const add = useRowMutation("subscriptions", async (distributionListId: string) => {
    await client.post("users/{userId}/subscriptions", { userId }, { distributionListId });
    setChosen(null);
    notify(t("saved"));
  });
  return (
    <div className="stack">
      <ErrorLine error={subscriptions.error ?? lists.error} />
      {subscriptions.data?.total === 0 && <p className="soft">{t("person.no-lists")}</p>}
      <ul className="plain lined">
        {subscriptions.data?.data.map((row) => (
          <li key={row.id} className="row">
            <strong className="grow">{row.distributionList?.name ?? "–"}</strong>
            <MembershipEndField row={row} />
            <LeaveListButton row={row} />
          </li>
        ))}
      </ul>
      <div className="row end">
        <Select
          label={t("person.add-list")}
          placeholder={t("person.choose-list")}
          searchable
          data={(lists.data?.data ?? [])
            .filter(({ id }) => !on.has(id))
            .map(({ id, name }) => ({ value: id, label: name }))}
          value={chosen}
          onChange={setChosen}
          flex="1 1 14rem"
        />
        <Button disabled={!chosen} loading={add.isPending} onClick={() => chosen && add.mutate(chosen)}>
          {t("add")}
        </Button>
      </div>
      <ErrorLine error={add.error} />
    </div>
  );
}

const ITEM = "distribution-lists/{distributionListId}/user-subscriptions/{subscriptionId}";

type Place = Pick<SubscriptionRow, "id" | "distributionListId" | "subscriptionEndDate"> & {
  permissions?: readonly string[];
};

/** Last day of a list membership, editable in place. */
export function MembershipEndField({ row, who }: { row: Place; who?: string }) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const params = { distributionListId: row.distributionListId, subscriptionId: row.id };
  const change = useRowMutation("subscriptions", async (subscriptionEndDate: string | null) => {
    await client.put(ITEM, params, { subscriptionEndDate });
    notify(t("saved"));
  });
  const day = lastDayOf(row.subscriptionEndDate);
  return (
    <span>
      <TextInput
        key={day}
        size="xs"
        type="date"
        aria-label={who ? t("person.until-named", { who }) : t("person.until")}
        title={t("person.until")}
        defaultValue={day}
        disabled={change.isPending}
        onBlur={({ currentTarget: { value } }) => {
          if (value !== day) change.mutate(endOfDay(value));
        }}
      />
      <ErrorLine error={change.error} />
    </span>
  );
}

/** Removes a person from a list; can be undone for ten seconds. */
export function LeaveListButton({
  row,
  userId,
  who,
}: {
  row: Place & { userId?: string };
  userId?: string;
  who?: string;
}) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const { distributionListId, subscriptionEndDate } = row;
  const owner = userId ?? row.userId ?? "";
  const back = useRowMutation<void, void>("subscriptions", async () => {
    const body = { userId: owner, subscriptionEndDate };
    await client.post("distribution-lists/{distributionListId}/user-subscriptions", { distributionListId }, body);
  });
  const leave = useRowMutation<void, void>("subscriptions", async () => {
    await client.remove(ITEM, { distributionListId, subscriptionId: row.id });
    notify(t("removed"), () => back.mutate());
  });
  return (
    <>
      <Button
        variant="default"
        size="compact-sm"
        loading={leave.isPending}
        onClick={() => leave.mutate()}
        {...(who ? { "aria-label": t("lists.remove-named", { who }) } : {})}
      >
        {t("remove")}
      </Button>
      <ErrorLine error={leave.error ?? back.error} />
    </>
  );
}
