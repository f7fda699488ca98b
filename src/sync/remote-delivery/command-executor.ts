import { existsSync } from "node:fs";
import type { Clock } from "../../lib/clock.ts";
import type { Events } from "../../lib/events.ts";
import { pollUntil } from "../../lib/waits.ts";
import { ssrcOf } from "../../media/rtp.ts";
import type { NotificationService } from "../../notifications/notification-service.ts";
import endpointActivities from "../../resources/devices/endpoint-activities.ts";
import endpoints from "../../resources/devices/endpoints.ts";
import notifications from "../../resources/notifications/notifications.ts";
import type { StoredFile } from "../../schema/field.ts";
import type { ActorContext, Store } from "../../store/store.ts";
import type { RemoteCommandType, SyncCommand } from "../protocol/frames.ts";
import type { ResumeCommand } from "../site/command-inbox.ts";
import type { PlayCommand } from "../site/command-scheduler.ts";
import type { RowBody } from "../storage/transaction-program.ts";
import type { RelayedMessage } from "./relayed-message.ts";

export interface CommandExecutorDeps {
  store: Store;
  clock: Clock;
  events: Events;
  by: ActorContext;
  endpointId(): string;
  notificationService: Pick<NotificationService, "abort" | "resume">;
  /** Upper bound of cloud time, epoch ms; null if unknown. */
  latestCloudTime(): number | null;
  /** Sends all state of this appliance to the cloud again. */
  resendState(): Promise<void>;
  onFault(error: unknown): void;
}

type PlayCallbacks = Parameters<PlayCommand>[1];

/**
 * Longest wait for the audio and image of a notification; then it is sent without.
 * @source docs/decisions/0040-replication.md, Section 4
 */
const FILE_WAIT_MS = 2_000;
const POLL_MS = 50;

const UPGRADES: ReadonlySet<string> = new Set<RemoteCommandType>(["upgrade", "upgrade-all"]);

/**
 * Runs the cloud's commands: notifications through the notification engine, remote commands through their activities.
 */
export function createCommandExecutor(deps: CommandExecutorDeps): { play: PlayCommand; resumed: ResumeCommand } {
  const { store, clock, events, by, onFault } = deps;

  /** False if none of its devices is on this appliance. */
  async function startMessage(command: SyncCommand, isSilenced: () => boolean): Promise<boolean> {
    if (store.get(notifications, command.cid)) return true;
    const message = command.body as unknown as RelayedMessage;
    if (localDevices(message).size === 0) return false;
    const fields = toLocalTime(await withAvailableFiles(message.fields));
    if (isSilenced()) return true;
    const now = clock.now();
    const lane = message.fields.priorityLevel === 0 ? "emergency" : "normal";
    await store.write((tx) => {
      const own = [...localDevices(message).keys()];
      const from = message.from !== null && tx.get(endpoints, message.from) ? message.from : null;
      tx.create(
        notifications,
        {},
        { ...by, replicated: true },
        {
          ...fields,
          id: command.cid,
          createdAt: now,
          updatedAt: now,
          additionalDeviceIds: own,
          initiatingEndpointId: from,
          initiationSourceId: message.notificationId,
          initiationSourceType: "cloud",
          ssrc: ssrcOf(command.cid),
          stage: "resolve",
          stageAt: now,
        },
      );
      tx.emit("notification.accepted", { notificationId: command.cid, priority: fields.priorityLevel ?? 5 });
    }, lane);
    deps.notificationService.resume(command.cid);
    // The cancel arrived during the write.
    if (isSilenced()) await deps.notificationService.abort(command.cid, by);
    return true;
  }

  /** Local devices of a notification, with the cloud's delivery numbers. */
  function localDevices(message: RelayedMessage): Map<string, number> {
    const found = store.all<{ id: string; delivery: number }>(
      `WITH named AS MATERIALIZED (SELECT value ->> 0 AS id, value ->> 1 AS delivery, value ->> 2 AS identifier FROM json_each(?))
       SELECT d.id, delivery FROM named JOIN devices d ON d.id = named.id
       UNION SELECT d.id, delivery FROM named JOIN devices d ON d.device_identifier = named.identifier COLLATE NOCASE`,
      JSON.stringify(message.devices),
    );
    return new Map(found.map(({ id, delivery }) => [id, delivery]));
  }

  /**
   * Converts expiry from cloud time to the local clock: a wrong clock must not silence a notification.
   * @source docs/decisions/0040-replication.md, Section 5
   */
  function toLocalTime<T extends RelayedMessage["fields"]>(fields: T): T {
    const aheadMs = clock.now() - (deps.latestCloudTime() ?? clock.now());
    const own = (at: number | null | undefined): number | null => (at ? at + aheadMs : null);
    return { ...fields, notAfter: own(fields.notAfter), expiresAt: own(fields.expiresAt) };
  }

  /** Drops files that do not arrive in time: the text must not wait for them. */
  async function withAvailableFiles(fields: RelayedMessage["fields"]): Promise<RelayedMessage["fields"]> {
    const isHere = (file: StoredFile | null | undefined): boolean => !file || existsSync(store.files.pathOf(file));
    const areHere = (): true | null => (isHere(fields.audio) && isHere(fields.image)) || null;
    await pollUntil(clock, areHere, { timeoutMs: FILE_WAIT_MS, intervalMs: POLL_MS });
    const { audio, image, ...rest } = fields;
    return { ...rest, audio: isHere(audio) ? (audio ?? null) : null, image: isHere(image) ? (image ?? null) : null };
  }

  /** Delivery levels and reasons, each with the cloud's delivery numbers. */
  function deliveryLevels(command: SyncCommand): RowBody {
    const rows = store.all<{ device: string; level: string; reason: string | null }>(
      `SELECT d.id AS device, l.level, l.reason FROM deliveries l JOIN devices d ON d.pk = l.device_pk
       WHERE l.notification_pk = (SELECT pk FROM notifications WHERE id = ?)`,
      command.cid,
    );
    const numbers = localDevices(command.body as unknown as RelayedMessage);
    const groups = new Map<string, [string, string | null, number[]]>();
    for (const { device, level, reason } of rows) {
      const number = numbers.get(device);
      if (number === undefined) continue;
      const group = groups.get(`${level} ${reason}`) ?? [level, reason, []];
      groups.set(`${level} ${reason}`, group);
      group[2].push(number);
    }
    return { levels: [...groups.values()] };
  }

  function playMessage(command: SyncCommand, on: PlayCallbacks): () => void {
    const { cid } = command;
    let isSilenced = false;
    let hasEnded = false;
    const unsubscribe = [
      events.on("deliveries.changed", ({ notificationId }) => notificationId === cid && on.heard()),
      events.on("notification.settled", ({ notificationId }) => notificationId === cid && end()),
    ];
    const stop = (): void => {
      for (const each of unsubscribe) each();
    };
    function finish(result: "done" | "failed"): void {
      stop();
      if (!hasEnded && !isSilenced) on.ended(result, result === "done" ? deliveryLevels(command) : undefined);
      hasEnded = true;
    }
    const end = (): void => finish("done");
    startMessage(command, () => isSilenced)
      .then((isHere) => {
        if (!isHere) finish("failed");
        else if (store.get(notifications, cid)?.stage === "settled") end();
      })
      .catch((error: unknown) => {
        onFault(error);
        finish("failed");
      });
    return () => {
      isSilenced = true;
      stop();
      if (store.get(notifications, cid)) deps.notificationService.abort(cid, by).catch(onFault);
    };
  }

  /** Follows the activity of a remote command to its end. */
  function followRemoteCommand({ cid, kind }: SyncCommand, on: PlayCallbacks): () => void {
    if (kind === "device-sync") {
      deps.resendState().then(
        () => on.ended("done"),
        (error: unknown) => {
          onFault(error);
          on.ended("failed");
        },
      );
      return () => undefined;
    }
    const checkState = (): void => {
      const state = store.get(endpointActivities, cid)?.state;
      if (state === "pending") return;
      stop();
      on.ended(state === "success" ? "done" : "failed");
    };
    const stop = events.on("row.changed", ({ resource, id }) => {
      if (resource === endpointActivities.name && id === cid) checkState();
    });
    clock.defer(checkState);
    return stop;
  }

  return {
    play: (command, on) => (command.kind === "broadcast" ? playMessage(command, on) : followRemoteCommand(command, on)),
    // This process is the restarted one.
    resumed({ cid, kind }) {
      if (kind === "restart") return "done";
      const state = store.get(endpointActivities, cid)?.state;
      // An upgrade may continue in the next process, perhaps of another version.
      if (state === "pending" && UPGRADES.has(kind)) return "armed";
      return state === "success" ? "done" : state === "fail" ? "failed" : "interrupted";
    },
  };
}
