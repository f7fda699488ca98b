import type { Timer } from "../lib/clock.ts";
import { ConflictError, invalidValue, notFound } from "../lib/errors.ts";
import type { Events } from "../lib/events.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import applianceUpgradeTurns from "../resources/devices/appliance-upgrade-turns.ts";
import applianceUpgrades from "../resources/devices/appliance-upgrades.ts";
import endpointActivities from "../resources/devices/endpoint-activities.ts";
import endpoints from "../resources/devices/endpoints.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/on-premises-extension.ts";
import type { ActorContext, Store, Sync, Transaction } from "../store/store.ts";
import { APPLIANCE_IDENTITIES } from "../sync/identity/enrolment-records.ts";
import { finalizeSteps } from "./finalize-steps.ts";
import { type NextWaveDeps, startNextWave } from "./next-wave.ts";
import { type ApplianceUpgrade, writeInBatches } from "./rollout-steps.ts";

export interface StagedRolloutsDeps extends NextWaveDeps {
  events: Events;
  /** The cloud's own endpoint, which is no appliance. */
  endpointId(): string;
  onFault(error: unknown): void;
}

/**
 * Staged rollouts of upgrades, one at a time. All methods but `start` and `stop` throw CallerError and ConflictError.
 */
export interface StagedRollouts {
  /** Starts a rollout of the version on offer to these appliances in order, or to all with valid keys (null). */
  create(input: object, endpointIds: readonly string[] | null, by: ActorContext): Promise<ApplianceUpgrade>;
  /** Starts no further wave; ordered upgrades continue. */
  pause(id: string, by: ActorContext): Promise<ApplianceUpgrade>;
  /** Continues a paused or stopped rollout; failed appliances are tried again. */
  resume(id: string, by: ActorContext): Promise<ApplianceUpgrade>;
  /** Leaves the remaining appliances unchanged. */
  cancel(id: string, by: ActorContext): Promise<ApplianceUpgrade>;
  /** Resumes rollouts of an earlier process. */
  start(): void;
  stop(): void;
}

type State = ApplianceUpgrade["state"];

/** @source docs/decisions/0305-staged-rollouts.md */
const TICK_MS = 5_000;
const MAX_STEPS = 10_000;
const OPEN_STATES: readonly State[] = ["preparing", "running", "paused", "stopped"];

export function createStagedRollouts(deps: StagedRolloutsDeps): StagedRollouts {
  const { store, clock, events, by: system } = deps;
  let startedAt = clock.now();
  let timer: Timer | null = null;
  let unsubscribe = (): void => undefined;
  let isFollowing = false;
  let isChanged = false;

  /** Processes open rollouts, again if something changed during that. */
  function wake(): void {
    isChanged = true;
    if (isFollowing) return;
    isFollowing = true;
    void followAll()
      .catch(deps.onFault)
      .finally(() => {
        isFollowing = false;
      });
  }

  async function followAll(): Promise<void> {
    while (isChanged && timer) {
      isChanged = false;
      for (const { id } of openRollouts(store)) {
        await finalizeSteps(id, { ...deps, startedAt, isStopped: () => timer === null });
        if (timer) await startNextWave(id, deps);
      }
    }
  }

  async function create(
    input: object,
    endpointIds: readonly string[] | null,
    by: ActorContext,
  ): Promise<ApplianceUpgrade> {
    const offered = deps.offered();
    if (!offered) throw new ConflictError(sentence("conflict.no-upgrade-is-on-offer-offer-one-with-carillon-upgrade"));
    const chosen = new Set(endpointIds ?? connectableAppliances(store, clock.now(), deps.endpointId()));
    for (const id of endpointIds ?? []) requireAppliance(id);
    if (chosen.size === 0) throw new ConflictError(sentence("conflict.no-appliances-to-upgrade"));
    const { version, sha256 } = offered;
    const { id } = await store.write((tx) => {
      if (OPEN_STATES.some((state) => tx.count(applianceUpgrades, { state }) > 0))
        throw new ConflictError(sentence("conflict.another-rollout-is-open-wait-for-its-end-or-cancel"));
      return tx.create(applianceUpgrades, input, by, { version, sha256 }) as Sync<ApplianceUpgrade>;
    });
    try {
      await writeInBatches(store, [...chosen], (endpointId, tx) => addStep(id, endpointId, tx));
      return await transition(id, "running", system, ["preparing"]);
    } catch (error) {
      await store.remove(applianceUpgrades, id, system);
      throw error;
    }
  }

  function requireAppliance(id: string): void {
    if (id !== deps.endpointId() && store.get(endpoints, id)?.extensionId === ONPREM_EXTENSION_ID) return;
    throw invalidValue("endpointIds", sentence("field.id-is-not-an-appliance", { id }));
  }

  /** A deleted appliance gets no step. */
  function addStep(applianceUpgradeId: string, endpointId: string, tx: Transaction): boolean {
    if (tx.get(endpoints, endpointId)) tx.create(applianceUpgradeTurns, { applianceUpgradeId, endpointId }, system);
    return true;
  }

  async function transition(
    id: string,
    state: State,
    by: ActorContext,
    from: readonly State[],
  ): Promise<ApplianceUpgrade> {
    const row = await store.write((tx) => {
      const found = tx.get(applianceUpgrades, id);
      if (!found) throw notFound();
      if (!from.includes(found.state))
        throw new ConflictError(
          sentence("conflict.a-rollout-that-is-state-cannot-become-wanted", { state: found.state, wanted: state }),
        );
      const values = {
        ...(state === "running" ? { reason: null, waitingSince: null } : {}),
        ...(state === "cancelled" ? { endedAt: clock.now() } : {}),
      };
      return tx.update(applianceUpgrades, id, {}, by, { state, ...values }) as Sync<ApplianceUpgrade>;
    });
    wake();
    return row;
  }

  const stepsOf = (applianceUpgradeId: string, state: "failed" | "waiting") =>
    store.find(applianceUpgradeTurns, { applianceUpgradeId, state }, MAX_STEPS);

  return {
    create,
    pause: (id, by) => transition(id, "paused", by, ["running"]),
    async resume(id, by) {
      const upgrade = store.get(applianceUpgrades, id);
      if (upgrade?.state === "stopped") {
        assertSameOffer(upgrade, deps);
        // Changes nothing, but checks that the caller may update the rollout.
        await store.write((tx) => void tx.update(applianceUpgrades, id, {}, by));
        const reset = { state: "waiting", reason: null, wave: null, activityId: null, endedAt: null } as const;
        await writeInBatches(store, stepsOf(id, "failed"), (step, tx) => {
          // It may have been cancelled in the meantime.
          if (tx.get(applianceUpgrades, id)?.state !== "stopped") return false;
          if (tx.get(applianceUpgradeTurns, step.id)?.state === "failed")
            tx.update(applianceUpgradeTurns, step.id, {}, system, reset);
          return true;
        });
      }
      return transition(id, "running", by, ["paused", "stopped"]);
    },
    async cancel(id, by) {
      const row = await transition(id, "cancelled", by, ["running", "paused", "stopped"]);
      const over = { state: "cancelled", endedAt: clock.now() } as const;
      await writeInBatches(store, stepsOf(id, "waiting"), (step, tx) => {
        // A wave may have just been ordered.
        if (tx.get(applianceUpgradeTurns, step.id)?.state === "waiting")
          tx.update(applianceUpgradeTurns, step.id, {}, system, over);
        return true;
      });
      return row;
    },
    start() {
      startedAt = clock.now();
      timer = clock.every(TICK_MS, wake);
      unsubscribe = events.on("row.changed", ({ resource, op }) => {
        if (resource === endpointActivities.name && op === "update") wake();
      });
      // A process that ended during preparation has started nothing.
      for (const { id } of store.find(applianceUpgrades, { state: "preparing" }))
        store.remove(applianceUpgrades, id, system).catch(deps.onFault);
      wake();
    },
    stop() {
      timer?.cancel();
      timer = null;
      unsubscribe();
    },
  };
}

/** Throws ConflictError if another version is on offer by now. */
function assertSameOffer({ version, sha256 }: ApplianceUpgrade, { offered }: Pick<NextWaveDeps, "offered">): void {
  const now = offered();
  if (now?.sha256 === sha256) return;
  const [wanted, found] = [version ?? "", now?.version ?? null];
  throw new ConflictError(
    found === null
      ? sentence("conflict.the-rollout-is-for-version-but-no-version-is-on-offer", { version: wanted })
      : sentence("conflict.the-rollout-is-for-version-but-offered-is-on-offer", { version: wanted, offered: found }),
  );
}

/** Rollouts that are running or have ordered upgrades. */
function openRollouts(store: Store): { id: string }[] {
  return store.all(
    `SELECT id FROM appliance_upgrades WHERE state = 'running'
       OR pk IN (SELECT appliance_upgrade_pk FROM appliance_upgrade_turns WHERE state = 'ordered')`,
  );
}

/** Appliances with a valid key, in order of creation. */
function connectableAppliances(store: Store, now: number, ownId: string): string[] {
  const found = store.all<{ id: string }>(
    `SELECT e.id FROM endpoints e JOIN extensions x ON x.pk = e.extension_pk WHERE x.id = ? AND e.id <> ? AND EXISTS
       (SELECT 1 FROM ${APPLIANCE_IDENTITIES.name} i WHERE i.endpoint = e.id AND i.revokedAt IS NULL AND i.until > ?) ORDER BY e.pk`,
    ...[ONPREM_EXTENSION_ID, ownId, now],
  );
  return found.map(({ id }) => id);
}
