import type { Clock } from "../lib/clock.ts";
import type { Events } from "../lib/events.ts";
import type { Log } from "../lib/log.ts";
import endpointActivities from "../resources/devices/endpoint-activities.ts";
import type { ENDPOINT_COMMAND_TYPES } from "../resources/devices/endpoint-activity-types.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Store } from "../store/store.ts";

type Activity = RowOf<typeof endpointActivities>;

/** The kinds of orders that a client may give to an appliance. */
export type EndpointCommandType = (typeof ENDPOINT_COMMAND_TYPES)[number];

/**
 * Carries out one order; what it gives is added to the activity's value. Throws what the activity tells as its failure;
 * once `signal` is aborted, the next run takes the order up again.
 */
export type EndpointCommandHandler = (activity: Activity, signal: AbortSignal) => Promise<Record<string, unknown>>;

/** Orders that are one kind have one work. */
type CommandQueueKey = EndpointCommandHandler | string;

/** What orders are carried out with. */
export interface EndpointCommandDeps {
  store: Store;
  clock: Clock;
  events: Events;
  log: Log;
  by: ActorContext;
  endpointId(): string;
  /** What is carried out here; kinds that are not named are left to whoever follows them. */
  handlers: Partial<Record<EndpointCommandType, EndpointCommandHandler>>;
  /** Kinds that nobody carries out on this appliance: answered at once. */
  unsupported?: readonly EndpointCommandType[];
  /** Throws what speaks against a restart: nobody could bring back from afar what does not start. */
  checkRestartAllowed(): Promise<void>;
  /** Ends the process to be started again. */
  restart(): void;
}

/**
 * Carries out the orders that clients give to this appliance, also those of an earlier run, and says of each what became
 * of it: those of a kind one after the other, those of other kinds beside them, as an upgrade may take an hour. A restart
 * waits for what is under way, and has succeeded once the next run finds the order. @source decisions.md 12
 */
export function createEndpointCommands(needs: EndpointCommandDeps): { start(): Promise<void>; stop(): Promise<void> } {
  const { store, clock, events, log, by, handlers, unsupported = [] } = needs;
  let stopped = false;
  /** What is under way, by what is done. */
  const running = new Map<CommandQueueKey, Promise<void>>();
  let unsubscribe = (): void => {};
  const shutdown = new AbortController();

  const isHandledHere = ({ type }: Activity): boolean =>
    type === "restart" || type in handlers || unsupported.includes(type as EndpointCommandType);
  const pending = (): Activity[] =>
    store.find(endpointActivities, { endpointId: needs.endpointId(), state: "pending" }).filter(isHandledHere);

  const queueKeyOf = ({ type }: Activity): CommandQueueKey => handlers[type as EndpointCommandType] ?? type;
  const nextPending = (kind: CommandQueueKey): Activity | undefined =>
    pending().find((activity) => queueKeyOf(activity) === kind);

  async function finish(activity: Activity, state: "success" | "fail", found: Record<string, unknown>): Promise<void> {
    const value = { ...(activity.value as object | null), ...found, finishedAt: new Date(clock.now()).toISOString() };
    await store.update(
      endpointActivities,
      activity.id,
      { value, state, severity: state === "fail" ? "error" : "info" },
      by,
    );
  }

  async function restart({ id }: Activity): Promise<void> {
    await needs.checkRestartAllowed();
    stopped = true;
    log.warn({ activityId: id }, "restarting, as ordered");
    needs.restart();
  }

  async function execute(activity: Activity): Promise<void> {
    const type = activity.type as EndpointCommandType;
    const work = handlers[type];
    if (!work && type !== "restart") return finish(activity, "fail", { reason: "This appliance can't do that." });
    try {
      if (!work) return await restart(activity);
      await finish(activity, "success", await work(activity, shutdown.signal));
    } catch (error) {
      if (shutdown.signal.aborted && error === shutdown.signal.reason) return;
      log.error({ err: error, activityId: activity.id, type }, "an order failed");
      await finish(activity, "fail", { reason: error instanceof Error ? error.message : String(error) });
    }
  }

  async function drainQueue(kind: CommandQueueKey): Promise<void> {
    if (kind === "restart") await Promise.all([...running.values()]);
    for (let next = nextPending(kind); next && !stopped; next = nextPending(kind)) await execute(next);
  }

  function wake(): void {
    for (const kind of stopped ? [] : pending().map(queueKeyOf)) {
      if (running.has(kind)) continue;
      const ended = drainQueue(kind)
        .catch((error: unknown) => log.error({ err: error }, "orders were not carried out"))
        .finally(() => running.delete(kind))
        .then(() => undefined);
      running.set(kind, ended);
    }
  }

  return {
    async start() {
      const restarts = pending().filter(({ type }) => type === "restart");
      for (const activity of restarts) await finish(activity, "success", {});
      unsubscribe = events.on("row.changed", ({ resource, op }) => {
        if (resource === endpointActivities.name && op === "create") wake();
      });
      wake();
    },
    async stop() {
      stopped = true;
      shutdown.abort();
      unsubscribe();
      await Promise.all([...running.values()]);
    },
  };
}
