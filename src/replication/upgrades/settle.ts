import { nextTurn } from "../../base/clock.ts";
import applianceUpgradeTurns from "../../resources/devices/appliance-upgrade-turns.ts";
import applianceUpgrades from "../../resources/devices/appliance-upgrades.ts";
import endpointActivities from "../../resources/devices/endpoint-activities.ts";
import endpoints from "../../resources/devices/endpoints.ts";
import type { Reader, Transaction } from "../../store/store.ts";
import { readPresence } from "../link/presence.ts";
import { type ApplianceUpgrade, AT_ONCE, type TurnNeeds, type UpgradeTurn } from "./turns.ts";
import { type Demand, type Upgrading, type Verdict, verdictOn } from "./verdict.ts";

/** What following those that were told needs. */
export interface SettleNeeds extends TurnNeeds {
  /** When the cloud began to listen to its appliances; epoch ms. */
  startedAt: number;
  isStopped(): boolean;
}

const MINUTE_MS = 60_000;
/** A cloud that starts hears nothing of its appliances until they have come back. own choice */
const BACK_WITHIN_MS = 300_000;
const MOST = 10_000;

/** Notes what became of those that were told to upgrade; the first that fails stops the whole. */
export async function settleTurns(upgradeId: string, needs: SettleNeeds): Promise<void> {
  const { store, clock } = needs;
  const upgrade = store.get(applianceUpgrades, upgradeId);
  if (!upgrade) return;
  const ordered = store.find(applianceUpgradeTurns, { applianceUpgradeId: upgradeId, state: "ordered" }, MOST);
  const connected = new Set(needs.connected());
  for (const [at, turn] of ordered.entries()) {
    if (at % AT_ONCE === AT_ONCE - 1) await nextTurn(clock);
    if (needs.isStopped()) return;
    const seen = seenOf(turn, connected, store);
    const verdict = verdictOn(clock.now(), seen, demandOf(upgrade, turn, needs.startedAt));
    if (verdict) await store.write((tx) => note(turn, verdict, tx, needs));
  }
}

function note(turn: UpgradeTurn, verdict: Verdict, tx: Transaction, { clock, by }: SettleNeeds): void {
  if (tx.get(applianceUpgradeTurns, turn.id)?.state !== "ordered") return;
  tx.update(applianceUpgradeTurns, turn.id, {}, by, { ...verdict, endedAt: clock.now() });
  const upgrade = tx.get(applianceUpgrades, turn.applianceUpgradeId);
  if (verdict.state === "done" || (upgrade?.state !== "running" && upgrade?.state !== "paused")) return;
  const name = tx.get(endpoints, turn.endpointId)?.name ?? turn.endpointId;
  tx.update(applianceUpgrades, upgrade.id, {}, by, { state: "stopped", reason: `${name}: ${verdict.reason}` });
}

function seenOf(
  { endpointId, activityId, healthBefore }: UpgradeTurn,
  connected: ReadonlySet<string>,
  reader: Reader,
): Upgrading {
  const order = activityId === null ? null : reader.get(endpointActivities, activityId);
  const presence = readPresence(reader, endpointId);
  const told = presence?.told ?? null;
  return {
    order: order?.state === "pending" ? null : { failed: order?.state !== "success", reason: reasonOf(order?.value) },
    isLinked: connected.has(endpointId),
    version: presence?.version ?? null,
    since: presence?.since ?? null,
    health: told && { status: told.health, reasons: told.reasons },
    healthBefore,
  };
}

/** When an appliance must be there by, and with what. */
function demandOf(upgrade: ApplianceUpgrade, { orderedAt }: UpgradeTurn, startedAt: number): Demand {
  const steadyMs = upgrade.steadyTime * 1_000;
  const until = Math.max((orderedAt ?? 0) + upgrade.timeLimit * MINUTE_MS, startedAt + BACK_WITHIN_MS + steadyMs);
  return { version: upgrade.version ?? "", steadyMs, until };
}

function reasonOf(value: unknown): string {
  const reason = (value as { reason?: unknown } | null | undefined)?.reason;
  return typeof reason === "string" ? reason.slice(0, 10_000) : "The order failed.";
}
