import type { DeliveryItem, PluginContext, StopRequest } from "#plugin-api";
import { DeviceError, type SpeakerDriver } from "./speaker-driver.ts";
import type { VolumeRestoration } from "./volume-restoration.ts";

/** All deliveries of the plugin. */
export interface HttpSpeakerDeliveries {
  start(items: readonly DeliveryItem[]): void;
  stop(request: StopRequest): void;
  /** True while a message is at a device. */
  isBusy(deviceIdentifier: string): boolean;
  sweep(): void;
}

/** What deliveries need; `driverOf` throws a Refusal. */
export interface HttpSpeakerDeliveriesDeps extends Pick<PluginContext, "clock" | "outcome" | "stream" | "log"> {
  driverOf(device: DeliveryItem["device"]): SpeakerDriver;
  volumes: VolumeRestoration;
}

interface HttpSpeakerDelivery {
  item: DeliveryItem;
  driver: SpeakerDriver;
  state: "asked" | "accepted" | "off";
}

const STATUS_EVERY_MS = 1_000;
const MAX_STATUS_QUERIES = 10;
const RETENTION_MS = 3_600_000;

/** Makes the flow: volume, start, the stream where it takes one, stop, the volume back. One step at a time with each device. */
export function createHttpSpeakerDeliveries(needs: HttpSpeakerDeliveriesDeps): HttpSpeakerDeliveries {
  const { clock, outcome, stream, volumes, log } = needs;
  const deliveries = new Map<number, HttpSpeakerDelivery>();
  const deviceQueues = new Map<string, Promise<void>>();
  /** Which delivery's text a device shows for a time of its own. */
  const shown = new Map<string, number>();

  /** Steps with one device keep their order; what goes wrong is told by the step itself. */
  const serialize = (device: string, step: () => Promise<void>): void => {
    const turn = (deviceQueues.get(device) ?? Promise.resolve()).then(step).catch((error: unknown) => {
      log.warn({ device, err: errorMessage(error) }, "a device did not do what it was told");
    });
    deviceQueues.set(device, turn);
    void turn.then(() => deviceQueues.get(device) === turn && deviceQueues.delete(device));
  };

  const startDelivery = async (delivery: HttpSpeakerDelivery): Promise<void> => {
    const { item, driver } = delivery;
    const { deliveryId, profile, device, audio } = item;
    if (delivery.state === "off") return;
    try {
      // What only shows something is never told to stop, and so would keep another volume.
      const volume = !audio || profile.volume === "As-Is" ? null : driver.volume?.words[profile.volume];
      if (volume) await volumes.setTemporarily(device, driver, volume);
      await driver.start(item);
      delivery.state = "accepted";
      outcome(deliveryId, "accepted");
      if (audio && driver.target)
        await stream.open({ ...driver.target, codec: "PCMU", ttl: audio.ttl }, item.notificationId);
      if (driver.isPlaying) queryStatus(delivery, 0);
      scheduleClear(delivery, profile.durationMs);
    } catch (error) {
      deliveries.delete(deliveryId);
      // Nobody will tell it to stop once it has failed.
      if (delivery.state === "accepted") await driver.stop?.(item).catch(() => undefined);
      outcome(deliveryId, "failed", {
        reason: errorMessage(error),
        retryable: !(error instanceof DeviceError) || error.retryable,
      });
      await volumes.restore(device, driver);
    }
  };
  /** What only shows something is told to stop by nobody else. */
  const scheduleClear = ({ item, driver }: HttpSpeakerDelivery, forMs: number | null): void => {
    const { deviceIdentifier } = item.device;
    shown.delete(deviceIdentifier);
    if (forMs === null || item.audio || !driver.stop) return;
    shown.set(deviceIdentifier, item.deliveryId);
    const isShown = (): boolean => shown.get(deviceIdentifier) === item.deliveryId;
    clock.after(forMs, () => {
      if (!isShown()) return;
      serialize(deviceIdentifier, async () => {
        if (!isShown()) return;
        shown.delete(deviceIdentifier);
        deliveries.delete(item.deliveryId);
        await driver.stop?.(item);
      });
    });
  };
  const queryStatus = (delivery: HttpSpeakerDelivery, questions: number): void => {
    if (questions >= MAX_STATUS_QUERIES) return;
    clock.after(STATUS_EVERY_MS, async () => {
      if (delivery.state !== "accepted") return;
      const plays = await delivery.driver.isPlaying?.().catch(() => false);
      if (plays) outcome(delivery.item.deliveryId, "playing");
      else queryStatus(delivery, questions + 1);
    });
  };
  const stopDelivery = async (delivery: HttpSpeakerDelivery, isOver: boolean): Promise<void> => {
    const { item, driver, state } = delivery;
    delivery.state = "off";
    if (!deliveries.delete(item.deliveryId)) return;
    if (state !== "accepted")
      return outcome(item.deliveryId, "skipped", { reason: "it was called off before the device was asked" });
    if (driver.target && !isOver) await stream.close(driver.target, item.notificationId).catch(() => undefined);
    const fault = await driver.stop?.(item).then(
      () => null,
      (error: unknown) => `the device could not be told to stop: ${errorMessage(error)}`,
    );
    outcome(item.deliveryId, "accepted", fault ? { reason: fault } : {});
    await volumes.restore(item.device, driver);
  };
  const enqueue = (item: DeliveryItem): void => {
    try {
      const delivery: HttpSpeakerDelivery = { item, driver: needs.driverOf(item.device), state: "asked" };
      deliveries.set(item.deliveryId, delivery);
      serialize(item.device.deviceIdentifier, () => startDelivery(delivery));
    } catch (error) {
      outcome(item.deliveryId, "failed", { reason: errorMessage(error), retryable: false });
    }
  };
  return {
    start(items) {
      for (const item of items) enqueue(item);
    },
    stop({ deliveryIds, reason }) {
      for (const id of deliveryIds) {
        const delivery = deliveries.get(id);
        if (delivery)
          serialize(delivery.item.device.deviceIdentifier, () => stopDelivery(delivery, reason === "ended"));
      }
    },
    isBusy: (identifier) =>
      deviceQueues.has(identifier) ||
      [...deliveries.values()].some(
        ({ item, state }) => item.audio && state !== "off" && item.device.deviceIdentifier === identifier,
      ),
    sweep() {
      const before = clock.now() - RETENTION_MS;
      for (const [id, { item }] of deliveries) if (item.notAfter < before) deliveries.delete(id);
    },
  };
}

function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
