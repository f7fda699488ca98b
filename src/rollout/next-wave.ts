import { sentence } from "../lib/sentences/sentences.ts";
import { isNewerVersion } from "../lib/version-order.ts";
import type { OfferedUpgrade } from "../ops/upgrade/remote-upgrade.ts";
import applianceUpgradeTurns from "../resources/devices/appliance-upgrade-turns.ts";
import applianceUpgrades from "../resources/devices/appliance-upgrades.ts";
import endpointActivities from "../resources/devices/endpoint-activities.ts";
import endpoints from "../resources/devices/endpoints.ts";
import { waveSizeAt } from "../resources/devices/upgrade-waves.ts";
import type { Transaction } from "../store/store.ts";
import { PRESENCES, readPresence } from "../sync/hub/presence-store.ts";
import { type ApplianceUpgrade, type RolloutStepDeps, writeInBatches } from "./rollout-steps.ts";

export interface NextWaveDeps extends RolloutStepDeps {
  /** The upgrade on offer; null if there is none. */
  offered(): OfferedUpgrade | null;
}

interface WaitingAppliance {
  id: string;
  endpointId: string;
  version: string | null;
  health: string | null;
}

const MINUTE_MS = 60_000;
const NOT_CONNECTED = sentence("rollout.not-connected");

/**
 * Starts the next wave of a running rollout once the previous one is complete. It consists of connected waiting
 * appliances, those with health RED last. Appliances that already run the version or a newer one, or that do not
 * connect in time, are skipped.
 */
export async function startNextWave(id: string, deps: NextWaveDeps): Promise<void> {
  const { store } = deps;
  const upgrade = store.get(applianceUpgrades, id);
  if (upgrade?.state !== "running") return;
  if (store.count(applianceUpgradeTurns, { applianceUpgradeId: id, state: "ordered" }) > 0) return;
  const waiting = store.all<WaitingAppliance>(
    `SELECT t.id, e.id AS endpointId, p.version, p.told ->> '$.health' AS health
     FROM appliance_upgrade_turns t JOIN endpoints e ON e.pk = t.endpoint_pk
     LEFT JOIN ${PRESENCES.name} p ON p.endpoint = e.id WHERE t.appliance_upgrade_pk = ? AND t.state = 'waiting' ORDER BY t.pk`,
    upgrade.pk,
  );
  if (waiting.length === 0) return completeRollout(upgrade, deps);
  const connected = new Set(deps.connected());
  const isConnected = ({ endpointId }: WaitingAppliance): boolean => connected.has(endpointId);
  const isUpgraded = ({ version }: WaitingAppliance): boolean =>
    version !== null && !isNewerVersion(upgrade.version ?? "", version);
  const there = waiting.filter(isConnected);
  const upgraded = there.filter(isUpgraded);
  const isDone = new Set(upgraded);
  if (upgraded.length > 0) await skipAppliances(upgraded, ({ version }) => `Already runs ${version}.`, deps);
  const ready = healthyFirst(there.filter((one) => !isDone.has(one)));
  if (ready.length > 0) return orderUpgrades(upgrade, ready, deps);
  // With none left the rollout completes at the next tick.
  if (upgraded.length === 0) await waitOrSkip(upgrade, waiting, deps);
}

/** An upgrade of an unhealthy appliance says little about the version. */
function healthyFirst(steps: readonly WaitingAppliance[]): WaitingAppliance[] {
  const isUnhealthy = ({ health }: WaitingAppliance): boolean => health === "RED";
  return [...steps.filter((step) => !isUnhealthy(step)), ...steps.filter(isUnhealthy)];
}

async function completeRollout({ id }: ApplianceUpgrade, { store, clock, by }: NextWaveDeps): Promise<void> {
  await store.write((tx) => {
    if (tx.get(applianceUpgrades, id)?.state !== "running") return;
    tx.update(applianceUpgrades, id, {}, by, { state: "complete", waitingSince: null, endedAt: clock.now() });
  });
}

async function waitOrSkip(
  { id, waitingSince, timeLimit }: ApplianceUpgrade,
  waiting: readonly WaitingAppliance[],
  deps: NextWaveDeps,
): Promise<void> {
  const { store, clock, by } = deps;
  const now = clock.now();
  if (waitingSince === null) {
    await store.write((tx) => void tx.update(applianceUpgrades, id, {}, by, { waitingSince: now }));
  } else if (now - waitingSince >= timeLimit * MINUTE_MS) await skipAppliances(waiting, () => NOT_CONNECTED, deps);
}

async function skipAppliances(
  steps: readonly WaitingAppliance[],
  reasonOf: (step: WaitingAppliance) => string,
  { store, clock, by }: NextWaveDeps,
): Promise<void> {
  await writeInBatches(store, steps, (step, tx) => {
    if (tx.get(applianceUpgradeTurns, step.id)?.state !== "waiting") return true;
    const values = { state: "skipped", reason: reasonOf(step), endedAt: clock.now() } as const;
    tx.update(applianceUpgradeTurns, step.id, {}, by, values);
    return true;
  });
}

async function orderUpgrades(
  upgrade: ApplianceUpgrade,
  ready: readonly WaitingAppliance[],
  deps: NextWaveDeps,
): Promise<void> {
  const { store, by, offered } = deps;
  const wave = upgrade.wave + 1;
  if (offered()?.sha256 !== upgrade.sha256) {
    const reason = sentence("rollout.other-version", { version: upgrade.version ?? "" });
    await store.write((tx) => void tx.update(applianceUpgrades, upgrade.id, {}, by, { state: "stopped", reason }));
    return;
  }
  await store.write((tx) => void tx.update(applianceUpgrades, upgrade.id, {}, by, { wave, waitingSince: null }));
  await writeInBatches(store, ready.slice(0, waveSizeAt(upgrade, wave)), (step, tx) => {
    // The rollout may have been paused or stopped in the meantime.
    if (tx.get(applianceUpgrades, upgrade.id)?.state !== "running") return false;
    if (tx.get(applianceUpgradeTurns, step.id)?.state === "waiting") orderUpgrade(step, { upgrade, wave }, tx, deps);
    return true;
  });
}

function orderUpgrade(
  { id, endpointId }: WaitingAppliance,
  { upgrade, wave }: { upgrade: ApplianceUpgrade; wave: number },
  tx: Transaction,
  { clock, by, offered }: NextWaveDeps,
): void {
  const extensionId = tx.get(endpoints, endpointId)?.extensionId;
  const now = clock.now();
  const presence = readPresence(tx, endpointId);
  // The appliance must not start the upgrade after the deadline.
  const value = { ...offered(), until: new Date(now + upgrade.timeLimit * MINUTE_MS).toISOString() };
  const order = { extensionId, endpointId, type: "upgrade", state: "pending", value };
  const { id: activityId } = tx.create(endpointActivities, order, by);
  const before = { fromVersion: presence?.version ?? null, healthBefore: presence?.told?.health ?? null };
  tx.update(applianceUpgradeTurns, id, {}, by, { state: "ordered", wave, activityId, orderedAt: now, ...before });
}
