import { Button } from "@mantine/core";
import type { WebhookDeliveryRow, WebhookRow } from "../../api/security-rows.ts";
import { usePolling, useRow, useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import type { MessageFamily } from "../../i18n/message-keys.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import type { FieldOverrides } from "../../ui/form/form-fields.ts";
import { ListPage } from "../../ui/list/list-page.tsx";
import { ListTable } from "../../ui/list/list-table.tsx";
import { NewSecretRow, SecretRotation } from "../../ui/new-secret.tsx";
import { OneTimeSecret } from "../../ui/one-time-secret.tsx";
import { NEW, RowSheet } from "../../ui/row-sheet.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import { resourceLabel } from "../security/permission-text.ts";
import "../../ui/lines.css";

const STATE_TONES: Readonly<Record<string, string>> = { delivered: "good", dead: "bad", pending: "" };

/** External systems called on changes. */
export default function WebhooksPage() {
  const { t } = useTranslation();
  return (
    <ListPage<WebhookRow>
      tabs="system"
      title={t("webhook.title")}
      add={t("webhook.add")}
      none={t("webhook.none")}
      route="triggers"
      opener={{ width: "1fr" }}
      columns={[
        { id: "state", head: t("field.status"), width: "9rem", side: true, cell: (row) => <WebhookStatus row={row} /> },
        { id: "spec", head: t("field.spec"), width: "1fr", cell: (row) => <code>{row.spec}</code> },
        { id: "url", head: t("field.url"), width: "2fr", cell: (row) => row.url },
      ]}
      sheet={(id, onClose) =>
        id === NEW ? <NewWebhook onClose={onClose} /> : <WebhookSheet key={id} triggerId={id} onClose={onClose} />
      }
    />
  );
}

function WebhookStatus({ row }: { row: WebhookRow }) {
  const { t } = useTranslation();
  if (!row.disabled) return <Chip tone="good">{t("webhook.on")}</Chip>;
  return row.disabledReason ? <Chip tone="bad">{t("webhook.given-up")}</Chip> : <Chip tone="">{t("webhook.off")}</Chip>;
}

function useFields(): FieldOverrides[] {
  const { t } = useTranslation();
  return [
    { name: "name" },
    { name: "spec", hint: t("webhook.spec-hint") },
    { name: "url", hint: t("webhook.url-hint") },
    { name: "certificateAuthority", hint: t("webhook.authority-hint") },
  ];
}

function NewWebhook({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <NewSecretRow<WebhookRow>
      route="triggers"
      title={t("webhook.add")}
      fields={useFields()}
      fixed={{ type: "webhook" }}
      onClose={onClose}
      made={({ secret }) => <OneTimeSecret label={t("webhook.secret")} value={secret ?? ""} onKept={onClose} />}
    />
  );
}

function WebhookSheet({ triggerId, onClose }: { triggerId: string; onClose: () => void }) {
  const { t } = useTranslation();
  const fields: FieldOverrides[] = [...useFields(), { name: "disabled" }];
  return (
    <RowSheet
      id={triggerId}
      item="triggers/{triggerId}"
      newTitle={t("webhook.add")}
      onClose={onClose}
      fields={fields}
      tabs={[
        { id: "calls", label: t("webhook.calls"), content: <Calls triggerId={triggerId} /> },
        { id: "key", label: t("webhook.key"), content: <Key triggerId={triggerId} /> },
      ]}
    >
      <DisabledReason triggerId={triggerId} />
    </RowSheet>
  );
}

function DisabledReason({ triggerId }: { triggerId: string }) {
  const { t, say } = useTranslation();
  const row = useRow<WebhookRow>("triggers/{triggerId}", { triggerId });
  const { disabledReason, disabledReasonSentence } = row.data ?? {};
  const reason = disabledReason && say(disabledReason, disabledReasonSentence);
  return reason ? <p className="fault">{t("webhook.given-up-text", { reason })}</p> : null;
}

/** Deliveries of the webhook with their outcome, newest first; each can be sent again. */
function Calls({ triggerId }: { triggerId: string }) {
  const { t, name, say } = useTranslation();
  usePolling("triggers/{triggerId}/deliveries");
  return (
    <section className="stack">
      <div className="members-table">
        <ListTable<WebhookDeliveryRow>
          label={t("webhook.calls")}
          route="triggers/{triggerId}/deliveries"
          params={{ triggerId }}
          sort="-createdAt"
          columns={[
            {
              id: "event",
              head: t("webhook.event"),
              width: "1fr",
              cell: (row) => (
                <span title={row.reason ? say(row.reason, row.reasonSentence) : undefined}>
                  {eventText(row.event, name)}{" "}
                  <small className="soft">
                    <Timestamp at={row.createdAt} />
                  </small>
                </span>
              ),
            },
            { id: "state", head: t("field.status"), width: "12rem", cell: (row) => <CallState row={row} /> },
            {
              id: "again",
              head: t("webhook.again"),
              width: "8rem",
              side: true,
              cell: (row) => <ReplayButton triggerId={triggerId} deliveryId={row.id} />,
            },
          ]}
          empty={<p>{t("webhook.no-calls")}</p>}
        />
      </div>
    </section>
  );
}

/** `users.updated` in words. */
function eventText(event: string, name: (family: MessageFamily, value: string) => string): string {
  const [resource = "", op = ""] = event.split(".");
  return `${resourceLabel(resource, name)}: ${name("webhook-op", op)}`;
}

function CallState({ row }: { row: WebhookDeliveryRow }) {
  const { t, name, say } = useTranslation();
  const reason = row.reason && say(row.reason, row.reasonSentence);
  const answer = row.lastStatus === null ? reason : t("webhook.status", { status: String(row.lastStatus) });
  return (
    <span className="row tight" title={reason || undefined}>
      <Chip tone={STATE_TONES[row.state] ?? ""}>{name("webhook-state", row.state)}</Chip>
      <small className="soft">
        {[answer, t("webhook.tries", { count: row.attempts })].filter(Boolean).join(" · ")}
      </small>
    </span>
  );
}

function ReplayButton({ triggerId, deliveryId }: { triggerId: string; deliveryId: string }) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const replay = useRowMutation<void, void>("trigger-deliveries", async () => {
    await client.post("triggers/{triggerId}/deliveries/{deliveryId}/replay", { triggerId, deliveryId }, {});
    notify(t("webhook.replayed"));
  });
  return (
    <>
      <Button variant="default" size="compact-sm" loading={replay.isPending} onClick={() => replay.mutate()}>
        {t("webhook.replay")}
      </Button>
      <ErrorLine error={replay.error} />
    </>
  );
}

function Key({ triggerId }: { triggerId: string }) {
  const { t } = useTranslation();
  const { client } = useConsole();
  const row = useRow<WebhookRow>("triggers/{triggerId}", { triggerId });
  return (
    <div className="stack">
      <p className="soft">{t("webhook.key-text")}</p>
      {row.data?.previousSecretUntil && (
        <p>
          {t("webhook.old-key")} <Timestamp at={row.data.previousSecretUntil} />
        </p>
      )}
      <SecretRotation
        resource="triggers"
        label={t("webhook.secret")}
        words={{ ask: t("webhook.rotate"), really: t("webhook.rotate-really") }}
        isSharp={false}
        rotate={async () =>
          (await client.post<WebhookRow>("triggers/{triggerId}/rotate-secret", { triggerId }, {})).secret ?? ""
        }
      />
      <ErrorLine error={row.error} />
    </div>
  );
}
