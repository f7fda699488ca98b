import { yieldToEventLoop } from "../lib/clock.ts";
import applianceUpgradeTurns from "../resources/devices/appliance-upgrade-turns.ts";
import applianceUpgrades from "../resources/devices/appliance-upgrades.ts";
import endpointActivities from "../resources/devices/endpoint-activities.ts";
import endpoints from "../resources/devices/endpoints.ts";
import type { StoreReader, Transaction } from "../store/store.ts";
import { readPresence } from "../sync/hub/presence-store.ts";
import { evaluateStep, type RolloutResult, type StepObservation, type StepTarget } from "./rollout-result.ts";
import {
  type ApplianceUpgrade,
  type RolloutStep,
  type RolloutStepDeps,
  STEPS_PER_TRANSACTION,
} from "./rollout-steps.ts";

/** What following those that were told needs. */
export interface FinalizeStepsDeps extends RolloutStepDeps {
  /** When the cloud began to listen to its appliances; epoch ms. */
  startedAt: number;
  isStopped(): boolean;
}

const MINUTE_MS = 60_000;
/** A cloud that starts hears nothing of its appliances until they have come back. own choice */
const RECONNECT_GRACE_MS = 300_000;
const MAX_STEPS = 10_000;

/** Notes what became of those that were told to upgrade; the first that fails stops the whole. */
export async function finalizeSteps(upgradeId: string, needs: FinalizeStepsDeps): Promise<void> {
  const { store, clock } = needs;
  const upgrade = store.get(applianceUpgrades, upgradeId);
  if (!upgrade) return;
  const ordered = store.find(applianceUpgradeTurns, { applianceUpgradeId: upgradeId, state: "ordered" }, MAX_STEPS);
  const connected = new Set(needs.connected());
  for (const [at, turn] of ordered.entries()) {
    if (at % STEPS_PER_TRANSACTION === STEPS_PER_TRANSACTION - 1) await yieldToEventLoop(clock);
    if (needs.isStopped()) return;
    const seen = observeStep(turn, connected, store);
    const verdict = evaluateStep(clock.now(), seen, stepTarget(upgrade, turn, needs.startedAt));
    if (verdict) await store.write((tx) => recordResult(turn, verdict, tx, needs));
  }
}

function recordResult(
  turn: RolloutStep,
  verdict: RolloutResult,
  tx: Transaction,
  { clock, by }: FinalizeStepsDeps,
): void {
  if (tx.get(applianceUpgradeTurns, turn.id)?.state !== "ordered") return;
  tx.update(applianceUpgradeTurns, turn.id, {}, by, { ...verdict, endedAt: clock.now() });
  const upgrade = tx.get(applianceUpgrades, turn.applianceUpgradeId);
  if (verdict.state === "done" || (upgrade?.state !== "running" && upgrade?.state !== "paused")) return;
  const name = tx.get(endpoints, turn.endpointId)?.name ?? turn.endpointId;
  tx.update(applianceUpgrades, upgrade.id, {}, by, { state: "stopped", reason: `${name}: ${verdict.reason}` });
}

function observeStep(
  { endpointId, activityId, healthBefore }: RolloutStep,
  connected: ReadonlySet<string>,
  reader: StoreReader,
): StepObservation {
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
function stepTarget(upgrade: ApplianceUpgrade, { orderedAt }: RolloutStep, startedAt: number): StepTarget {
  const steadyMs = upgrade.steadyTime * 1_000;
  const until = Math.max((orderedAt ?? 0) + upgrade.timeLimit * MINUTE_MS, startedAt + RECONNECT_GRACE_MS + steadyMs);
  return { version: upgrade.version ?? "", steadyMs, until };
}

function reasonOf(value: unknown): string {
  const reason = (value as { reason?: unknown } | null | undefined)?.reason;
  return typeof reason === "string" ? reason.slice(0, 10_000) : "The order failed.";
}
