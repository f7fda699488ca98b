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

/** What beginning a wave needs. */
export interface NextWaveDeps extends RolloutStepDeps {
  /** The version that lies ready; null when none does. */
  offered(): OfferedUpgrade | null;
}

interface WaitingAppliance {
  id: string;
  endpointId: string;
  version: string | null;
  health: string | null;
}

const MINUTE_MS = 60_000;
const NOT_CONNECTED = "It was not connected when its turn came.";

/**
 * Begins the next wave of an upgrade that runs, once all of the one before have got there: of those that are still to come
 * and are connected, those that are RED last. Those that run the version already, or a later one, and those that don't come in time are left out.
 */
export async function startNextWave(id: string, needs: NextWaveDeps): Promise<void> {
  const { store } = needs;
  const upgrade = store.get(applianceUpgrades, id);
  if (upgrade?.state !== "running") return;
  if (store.count(applianceUpgradeTurns, { applianceUpgradeId: id, state: "ordered" }) > 0) return;
  const waiting = store.all<WaitingAppliance>(
    `SELECT t.id, e.id AS endpointId, p.version, p.told ->> '$.health' AS health
     FROM appliance_upgrade_turns t JOIN endpoints e ON e.pk = t.endpoint_pk
     LEFT JOIN ${PRESENCES.name} p ON p.endpoint = e.id WHERE t.appliance_upgrade_pk = ? AND t.state = 'waiting' ORDER BY t.pk`,
    upgrade.pk,
  );
  if (waiting.length === 0) return completeRollout(upgrade, needs);
  const connected = new Set(needs.connected());
  const isThere = ({ endpointId }: WaitingAppliance): boolean => connected.has(endpointId);
  const runsIt = ({ version }: WaitingAppliance): boolean =>
    version !== null && !isNewerVersion(upgrade.version ?? "", version);
  const there = waiting.filter(isThere);
  const over = there.filter(runsIt);
  const isOver = new Set(over);
  if (over.length > 0) await skipAppliances(over, ({ version }) => `It runs ${version} already.`, needs);
  const ready = healthyFirst(there.filter((one) => !isOver.has(one)));
  if (ready.length > 0) return orderUpgrades(upgrade, ready, needs);
  // Nobody may be left: that is seen the next time.
  if (over.length === 0) await waitOrSkip(upgrade, waiting, needs);
}

/** What an ill one proves of a version says little. */
function healthyFirst(turns: readonly WaitingAppliance[]): WaitingAppliance[] {
  const isIll = ({ health }: WaitingAppliance): boolean => health === "RED";
  return [...turns.filter((turn) => !isIll(turn)), ...turns.filter(isIll)];
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
  needs: NextWaveDeps,
): Promise<void> {
  const { store, clock, by } = needs;
  const now = clock.now();
  if (waitingSince === null) {
    await store.write((tx) => void tx.update(applianceUpgrades, id, {}, by, { waitingSince: now }));
  } else if (now - waitingSince >= timeLimit * MINUTE_MS) await skipAppliances(waiting, () => NOT_CONNECTED, needs);
}

async function skipAppliances(
  turns: readonly WaitingAppliance[],
  reasonOf: (turn: WaitingAppliance) => string,
  { store, clock, by }: NextWaveDeps,
): Promise<void> {
  await writeInBatches(store, turns, (turn, tx) => {
    if (tx.get(applianceUpgradeTurns, turn.id)?.state !== "waiting") return true;
    const values = { state: "skipped", reason: reasonOf(turn), endedAt: clock.now() } as const;
    tx.update(applianceUpgradeTurns, turn.id, {}, by, values);
    return true;
  });
}

async function orderUpgrades(
  upgrade: ApplianceUpgrade,
  ready: readonly WaitingAppliance[],
  needs: NextWaveDeps,
): Promise<void> {
  const { store, by, offered } = needs;
  const wave = upgrade.wave + 1;
  if (offered()?.sha256 !== upgrade.sha256) {
    const reason = `Another version than ${upgrade.version} lies ready by now.`;
    await store.write((tx) => void tx.update(applianceUpgrades, upgrade.id, {}, by, { state: "stopped", reason }));
    return;
  }
  await store.write((tx) => void tx.update(applianceUpgrades, upgrade.id, {}, by, { wave, waitingSince: null }));
  await writeInBatches(store, ready.slice(0, waveSizeAt(upgrade, wave)), (turn, tx) => {
    // It may have been paused, or have failed somewhere, meanwhile.
    if (tx.get(applianceUpgrades, upgrade.id)?.state !== "running") return false;
    if (tx.get(applianceUpgradeTurns, turn.id)?.state === "waiting") orderUpgrade(turn, { upgrade, wave }, tx, needs);
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
  // Nothing is begun there once this has given up.
  const value = { ...offered(), until: new Date(now + upgrade.timeLimit * MINUTE_MS).toISOString() };
  const order = { extensionId, endpointId, type: "upgrade", state: "pending", value };
  const { id: activityId } = tx.create(endpointActivities, order, by);
  const before = { fromVersion: presence?.version ?? null, healthBefore: presence?.told?.health ?? null };
  tx.update(applianceUpgradeTurns, id, {}, by, { state: "ordered", wave, activityId, orderedAt: now, ...before });
}
