import type { Timer } from "../lib/clock.ts";
import { ConflictError, invalidValue, notFound } from "../lib/errors.ts";
import type { Events } from "../lib/events.ts";
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

/** What upgrading many appliances needs. */
export interface StagedRolloutsDeps extends NextWaveDeps {
  events: Events;
  /** The cloud's own endpoint, which is no appliance. */
  endpointId(): string;
  onFault(error: unknown): void;
}

/** Upgrades of many appliances, one after the other. All but `start` and `stop` throw CallerError and ConflictError. */
export interface StagedRollouts {
  /** Begins one with the version that lies ready, for these appliances in this order, or for all that may connect (null). */
  create(input: object, endpointIds: readonly string[] | null, by: ActorContext): Promise<ApplianceUpgrade>;
  /** No further wave begins; what was ordered goes on. */
  pause(id: string, by: ActorContext): Promise<ApplianceUpgrade>;
  /** Goes on with one that is paused, or stopped: those that failed are told once more. */
  resume(id: string, by: ActorContext): Promise<ApplianceUpgrade>;
  /** Those that are still to come stay as they are. */
  cancel(id: string, by: ActorContext): Promise<ApplianceUpgrade>;
  /** Goes on with those of an earlier run. */
  start(): void;
  stop(): void;
}

type State = ApplianceUpgrade["state"];

/** own choice: links are noticed at once, and health is told every 15 s */
const TICK_MS = 5_000;
const MAX_STEPS = 10_000;
const OPEN_STATES: readonly State[] = ["preparing", "running", "paused", "stopped"];

/** Makes them. */
export function createStagedRollouts(needs: StagedRolloutsDeps): StagedRollouts {
  const { store, clock, events, by: system } = needs;
  let startedAt = clock.now();
  let timer: Timer | null = null;
  let unsubscribe = (): void => undefined;
  let isFollowing = false;
  let again = false;

  /** Follows what is open, and once more when something happened meanwhile. */
  function wake(): void {
    again = true;
    if (isFollowing) return;
    isFollowing = true;
    void followAll()
      .catch(needs.onFault)
      .finally(() => {
        isFollowing = false;
      });
  }

  async function followAll(): Promise<void> {
    while (again && timer) {
      again = false;
      for (const { id } of openRollouts(store)) {
        await finalizeSteps(id, { ...needs, startedAt, isStopped: () => timer === null });
        if (timer) await startNextWave(id, needs);
      }
    }
  }

  async function create(
    input: object,
    endpointIds: readonly string[] | null,
    by: ActorContext,
  ): Promise<ApplianceUpgrade> {
    const offered = needs.offered();
    if (!offered) throw new ConflictError("No version lies ready: carillon upgrade-offer FILE puts one there.");
    const chosen = new Set(endpointIds ?? connectableAppliances(store, clock.now(), needs.endpointId()));
    for (const id of endpointIds ?? []) requireAppliance(id);
    if (chosen.size === 0) throw new ConflictError("There is no appliance that could be upgraded.");
    const { version, sha256 } = offered;
    const { id } = await store.write((tx) => {
      if (OPEN_STATES.some((state) => tx.count(applianceUpgrades, { state }) > 0))
        throw new ConflictError("Another upgrade is not over: cancel it first, or wait for its end.");
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
    if (id !== needs.endpointId() && store.get(endpoints, id)?.extensionId === ONPREM_EXTENSION_ID) return;
    throw invalidValue("endpointIds", `${id} is none of the appliances.`);
  }

  /** One that was deleted meanwhile needs none. */
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
      if (!from.includes(found.state)) throw new ConflictError(`It can't be ${state}: it is ${found.state}.`);
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
        assertSameOffer(upgrade, needs);
        // Writes nothing: who may not go on with it changes nothing.
        await store.write((tx) => void tx.update(applianceUpgrades, id, {}, by));
        const fresh = { state: "waiting", reason: null, wave: null, activityId: null, endedAt: null } as const;
        await writeInBatches(store, stepsOf(id, "failed"), (turn, tx) => {
          // It may have been cancelled meanwhile.
          if (tx.get(applianceUpgrades, id)?.state !== "stopped") return false;
          if (tx.get(applianceUpgradeTurns, turn.id)?.state === "failed")
            tx.update(applianceUpgradeTurns, turn.id, {}, system, fresh);
          return true;
        });
      }
      return transition(id, "running", by, ["paused", "stopped"]);
    },
    async cancel(id, by) {
      const row = await transition(id, "cancelled", by, ["running", "paused", "stopped"]);
      const over = { state: "cancelled", endedAt: clock.now() } as const;
      await writeInBatches(store, stepsOf(id, "waiting"), (turn, tx) => {
        // A wave was just being told.
        if (tx.get(applianceUpgradeTurns, turn.id)?.state === "waiting")
          tx.update(applianceUpgradeTurns, turn.id, {}, system, over);
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
      // A run that ended in the middle of it has begun nothing.
      for (const { id } of store.find(applianceUpgrades, { state: "preparing" }))
        store.remove(applianceUpgrades, id, system).catch(needs.onFault);
      wake();
    },
    stop() {
      timer?.cancel();
      timer = null;
      unsubscribe();
    },
  };
}

/** Throws ConflictError where another version lies ready by now. */
function assertSameOffer({ version, sha256 }: ApplianceUpgrade, { offered }: Pick<NextWaveDeps, "offered">): void {
  const now = offered();
  if (now?.sha256 === sha256) return;
  throw new ConflictError(
    `${now?.version ?? "No version"} lies ready by now, and it began with ${version}: cancel it.`,
  );
}

/** Those of which something may still become. */
function openRollouts(store: Store): { id: string }[] {
  return store.all(
    `SELECT id FROM appliance_upgrades WHERE state = 'running'
       OR pk IN (SELECT appliance_upgrade_pk FROM appliance_upgrade_turns WHERE state = 'ordered')`,
  );
}

/** In the order in which they came. */
function connectableAppliances(store: Store, now: number, ownId: string): string[] {
  const found = store.all<{ id: string }>(
    `SELECT e.id FROM endpoints e JOIN extensions x ON x.pk = e.extension_pk WHERE x.id = ? AND e.id <> ? AND EXISTS
       (SELECT 1 FROM ${APPLIANCE_IDENTITIES.name} i WHERE i.endpoint = e.id AND i.revokedAt IS NULL AND i.until > ?) ORDER BY e.pk`,
    ...[ONPREM_EXTENSION_ID, ownId, now],
  );
  return found.map(({ id }) => id);
}
