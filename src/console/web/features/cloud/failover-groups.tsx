import type { FailoverDetails } from "../../api/link-rows.ts";
import type { ActivationGroupRow, EndpointRow, ExtensionRow } from "../../api/rows.ts";
import { useCloudLink, useRows } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";

/** The feed does not report heartbeats. */
const POLL_INTERVAL_MS = 5_000;
const TONES = { active: "good", standby: "", takeover: "warn", unreachable: "warn" } as const;

type FailoverRow = EndpointRow & { failoverDetails: FailoverDetails | null };

/** Failover groups: priorities, the active appliance and unreachable peers. */
export function FailoverGroups() {
  const { t } = useTranslation();
  const isHub = useCloudLink()?.role === "hub";
  const { appliances, error } = useCovering();
  const groups = useRows<ActivationGroupRow>(
    "activation-groups",
    {},
    { sort: "priority", limit: 200 },
    { refetchInterval: POLL_INTERVAL_MS },
  );
  const circles = (groups.data?.data ?? []).filter(({ endpointIds }) => endpointIds.length > 1);
  return (
    <section className="card" aria-label={t("failover.title")}>
      <h2>{t("failover.title")}</h2>
      <ErrorLine error={groups.error ?? error} />
      {!isHub && <OwnPart appliances={appliances} />}
      <p className="soft">{circles.length === 0 && groups.data ? t("failover.none") : t("failover.intro")}</p>
      {circles.map((group) => (
        <FailoverGroup key={group.id} {...{ group, appliances, isHub }} />
      ))}
    </section>
  );
}

function FailoverGroup({
  group,
  appliances,
  isHub,
}: {
  group: ActivationGroupRow;
  appliances: ReadonlyMap<string, FailoverRow>;
  isHub: boolean;
}) {
  const { t } = useTranslation();
  const ownId = useCloudLink()?.endpointId;
  const reachable = new Map((group.endpoints ?? []).map((each) => [each.id, each.reachable]));
  return (
    <>
      <h3>{group.name}</h3>
      <ol className="plain lined">
        {group.endpointIds.map((id, rank) => {
          const row = appliances.get(id);
          const acts = row?.failoverDetails?.activationGroupIds.includes(group.id) ?? false;
          return (
            <li key={id} className="row">
              <span className="soft">{t("failover.rank", { count: rank + 1 })}</span>
              <strong>{row?.name ?? "–"}</strong>
              {id === ownId && <span className="soft">({t("failover.here")})</span>}
              {acts && <Chip tone="good">{t("failover.acts")}</Chip>}
              {!isHub && id !== ownId && reachable.get(id) === false && (
                <Chip tone="warn">{t("activation.unreachable")}</Chip>
              )}
            </li>
          );
        })}
      </ol>
    </>
  );
}

function OwnPart({ appliances }: { appliances: ReadonlyMap<string, FailoverRow> }) {
  const { t, name } = useTranslation();
  const own = appliances.get(useCloudLink()?.endpointId ?? "")?.failoverDetails;
  if (!own) return null;
  return (
    <div className="row" aria-live="polite">
      <strong>{t("failover.own")}</strong>
      <Chip tone={TONES[own.state]}>{name("failover-state", own.state)}</Chip>
      <span>{name("failover-role", own.role)}</span>
      {own.peers.length > 0 && <span>{t("failover.peers", { count: own.peers.length })}</span>}
      {own.lastHeartbeatAt && (
        <span className="soft">
          {t("failover.heard")} <Timestamp at={own.lastHeartbeatAt} />
        </span>
      )}
    </div>
  );
}

/** All appliances by id, with how each covers. */
function useCovering() {
  const proxies = useRows<ExtensionRow>("extensions", {}, { type: "endpoint-proxy" });
  const extensionId = proxies.data?.data.find(({ name }) => name === "onprem")?.id ?? "";
  const found = useRows<FailoverRow>(
    "extensions/{extensionId}/endpoints",
    { extensionId },
    { includeFailoverDetails: true, limit: 1_000 },
    { enabled: extensionId !== "", refetchInterval: POLL_INTERVAL_MS },
  );
  const appliances = new Map((found.data?.data ?? []).map((row) => [row.id, row]));
  return { appliances, error: found.error };
}
