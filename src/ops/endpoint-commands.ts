import type { Clock } from "../lib/clock.ts";
import type { Events } from "../lib/events.ts";
import type { Log } from "../lib/log.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import endpointActivities from "../resources/devices/endpoint-activities.ts";
import type { ENDPOINT_COMMAND_TYPES } from "../resources/devices/endpoint-activity-types.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Store } from "../store/store.ts";

type Activity = RowOf<typeof endpointActivities>;

/** Commands that a client may send to an appliance. */
export type EndpointCommandType = (typeof ENDPOINT_COMMAND_TYPES)[number];

/**
 * Executes one command; the result is merged into the activity's value. A thrown error becomes the reason of the failure;
 * after an abort by `signal` the next run of the daemon resumes the command.
 */
export type EndpointCommandHandler = (activity: Activity, signal: AbortSignal) => Promise<Record<string, unknown>>;

/** Commands with the same handler share one queue. */
type CommandQueueKey = EndpointCommandHandler | string;

export interface EndpointCommandDeps {
  store: Store;
  clock: Clock;
  events: Events;
  log: Log;
  by: ActorContext;
  endpointId(): string;
  /** Handlers of this daemon; other types are handled by another component that follows the activities. */
  handlers: Partial<Record<EndpointCommandType, EndpointCommandHandler>>;
  /** Types that this appliance can't execute; they fail at once. */
  unsupported?: readonly EndpointCommandType[];
  /** Throws if a restart is likely to fail, as a daemon that does not start can't be fixed remotely. */
  checkRestartAllowed(): Promise<void>;
  /** Restarts the process. */
  restart(): void;
}

/**
 * Executes the commands that clients send to this appliance, including those of an earlier run, and records the result of
 * each. Commands of one type run one after the other, different types in parallel, as an upgrade may take an hour. A restart
 * waits for running commands and succeeds when the next run finds it. @source docs/decisions/0012-extensions-and-endpoints.md
 */
export function createEndpointCommands(deps: EndpointCommandDeps): { start(): Promise<void>; stop(): Promise<void> } {
  const { store, clock, events, log, by, handlers, unsupported = [] } = deps;
  let stopped = false;
  /** Running queues. */
  const running = new Map<CommandQueueKey, Promise<void>>();
  let unsubscribe = (): void => {};
  const shutdown = new AbortController();

  const isHandledHere = ({ type }: Activity): boolean =>
    type === "restart" || type in handlers || unsupported.includes(type as EndpointCommandType);
  const pending = (): Activity[] =>
    store.find(endpointActivities, { endpointId: deps.endpointId(), state: "pending" }).filter(isHandledHere);

  const queueKeyOf = ({ type }: Activity): CommandQueueKey => handlers[type as EndpointCommandType] ?? type;
  const nextPending = (kind: CommandQueueKey): Activity | undefined =>
    pending().find((activity) => queueKeyOf(activity) === kind);

  async function finish(activity: Activity, state: "success" | "fail", result: Record<string, unknown>): Promise<void> {
    const value = { ...(activity.value as object | null), ...result, finishedAt: new Date(clock.now()).toISOString() };
    await store.update(
      endpointActivities,
      activity.id,
      { value, state, severity: state === "fail" ? "error" : "info" },
      by,
    );
  }

  async function restart({ id }: Activity): Promise<void> {
    await deps.checkRestartAllowed();
    stopped = true;
    log.warn({ event: "command.restarting", activityId: id }, "restart requested; restarting");
    deps.restart();
  }

  async function execute(activity: Activity): Promise<void> {
    const type = activity.type as EndpointCommandType;
    const handler = handlers[type];
    if (!handler && type !== "restart")
      return finish(activity, "fail", { reason: sentence("error.command-not-supported-by-this-appliance") });
    try {
      if (!handler) return await restart(activity);
      await finish(activity, "success", await handler(activity, shutdown.signal));
    } catch (error) {
      if (shutdown.signal.aborted && error === shutdown.signal.reason) return;
      log.error({ event: "command.failed", err: error, activityId: activity.id, type }, "command failed");
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
        .catch((error: unknown) =>
          log.error({ event: "command.queue_failed", err: error }, "failed to process commands"),
        )
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
