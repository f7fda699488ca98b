import { yieldToEventLoop } from "../lib/clock.ts";
import { sentence } from "../lib/sentences/sentences.ts";
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

export interface FinalizeStepsDeps extends RolloutStepDeps {
  /** Start of this process; epoch ms. */
  startedAt: number;
  isStopped(): boolean;
}

const MINUTE_MS = 60_000;
/** Time for appliances to reconnect after a start of the cloud. @source docs/decisions/0305-staged-rollouts.md */
const RECONNECT_GRACE_MS = 300_000;
const MAX_STEPS = 10_000;

/** Records the results of ordered upgrades; the first failure stops the rollout. */
export async function finalizeSteps(upgradeId: string, deps: FinalizeStepsDeps): Promise<void> {
  const { store, clock } = deps;
  const upgrade = store.get(applianceUpgrades, upgradeId);
  if (!upgrade) return;
  const ordered = store.find(applianceUpgradeTurns, { applianceUpgradeId: upgradeId, state: "ordered" }, MAX_STEPS);
  const connected = new Set(deps.connected());
  for (const [at, step] of ordered.entries()) {
    if (at % STEPS_PER_TRANSACTION === STEPS_PER_TRANSACTION - 1) await yieldToEventLoop(clock);
    if (deps.isStopped()) return;
    const observed = observeStep(step, connected, store);
    const result = evaluateStep(clock.now(), observed, stepTarget(upgrade, step, deps.startedAt));
    if (result) await store.write((tx) => recordResult(step, result, tx, deps));
  }
}

function recordResult(
  step: RolloutStep,
  result: RolloutResult,
  tx: Transaction,
  { clock, by }: FinalizeStepsDeps,
): void {
  if (tx.get(applianceUpgradeTurns, step.id)?.state !== "ordered") return;
  tx.update(applianceUpgradeTurns, step.id, {}, by, { ...result, endedAt: clock.now() });
  const upgrade = tx.get(applianceUpgrades, step.applianceUpgradeId);
  if (result.state === "done" || (upgrade?.state !== "running" && upgrade?.state !== "paused")) return;
  const name = tx.get(endpoints, step.endpointId)?.name ?? step.endpointId;
  tx.update(applianceUpgrades, upgrade.id, {}, by, { state: "stopped", reason: `${name}: ${result.reason}` });
}

function observeStep(
  { endpointId, activityId, healthBefore }: RolloutStep,
  connected: ReadonlySet<string>,
  reader: StoreReader,
): StepObservation {
  const command = activityId === null ? null : reader.get(endpointActivities, activityId);
  const presence = readPresence(reader, endpointId);
  const reported = presence?.told ?? null;
  return {
    order:
      command?.state === "pending" ? null : { failed: command?.state !== "success", reason: reasonOf(command?.value) },
    isLinked: connected.has(endpointId),
    version: presence?.version ?? null,
    since: presence?.since ?? null,
    health: reported && { status: reported.health, reasons: reported.reasons },
    healthBefore,
  };
}

/** Version and deadline for an appliance. */
function stepTarget(upgrade: ApplianceUpgrade, { orderedAt }: RolloutStep, startedAt: number): StepTarget {
  const steadyMs = upgrade.steadyTime * 1_000;
  const until = Math.max((orderedAt ?? 0) + upgrade.timeLimit * MINUTE_MS, startedAt + RECONNECT_GRACE_MS + steadyMs);
  return { version: upgrade.version ?? "", steadyMs, until };
}

function reasonOf(value: unknown): string {
  const reason = (value as { reason?: unknown } | null | undefined)?.reason;
  return typeof reason === "string" ? reason.slice(0, 10_000) : sentence("rollout.failed");
}
