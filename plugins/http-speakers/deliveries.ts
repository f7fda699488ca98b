import { type DeliveryItem, isNetworkUnreachable, type PluginContext, type StopRequest } from "#plugin-api";
import { sentence } from "./sentences.ts";
import { DeviceError, type SpeakerDriver } from "./speaker-driver.ts";
import type { VolumeRestoration } from "./volume-restoration.ts";

export interface HttpSpeakerDeliveries {
  start(items: readonly DeliveryItem[]): void;
  stop(request: StopRequest): void;
  /** True while a device plays or shows a message. */
  isBusy(deviceIdentifier: string): boolean;
  sweep(): void;
}

/** `driverOf` throws DeviceError. */
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

/**
 * Runs deliveries: set volume, start, open the stream, stop, restore the volume. Steps of one device are serialized.
 */
export function createHttpSpeakerDeliveries(deps: HttpSpeakerDeliveriesDeps): HttpSpeakerDeliveries {
  const { clock, outcome, stream, volumes, log } = deps;
  const deliveries = new Map<number, HttpSpeakerDelivery>();
  const deviceQueues = new Map<string, Promise<void>>();
  /** Delivery whose text a device shows for a limited time. */
  const shown = new Map<string, number>();

  /** Serializes the steps of one device; steps handle their own errors. */
  const serialize = (device: string, step: () => Promise<void>): void => {
    const pending = (deviceQueues.get(device) ?? Promise.resolve()).then(step).catch((error: unknown) => {
      log.warn({ event: "speaker.command_failed", device, err: errorMessage(error) }, "speaker command failed");
    });
    deviceQueues.set(device, pending);
    void pending.then(() => deviceQueues.get(device) === pending && deviceQueues.delete(device));
  };

  const startDelivery = async (delivery: HttpSpeakerDelivery): Promise<void> => {
    const { item, driver } = delivery;
    const { deliveryId, profile, device, audio } = item;
    if (delivery.state === "off") return;
    try {
      // Silent messages get no stop command that would restore the volume.
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
      // A failed delivery gets no later stop.
      if (delivery.state === "accepted") await driver.stop?.(item).catch(() => undefined);
      outcome(deliveryId, "failed", {
        reason: errorMessage(error),
        retryable: !(error instanceof DeviceError) || error.retryable,
        ...(isNetworkUnreachable(error) && { noNetwork: true }),
      });
      await volumes.restore(device, driver);
    }
  };
  /** Clears the text of a silent message after its display time. */
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
  const queryStatus = (delivery: HttpSpeakerDelivery, attempts: number): void => {
    if (attempts >= MAX_STATUS_QUERIES) return;
    clock.after(STATUS_EVERY_MS, async () => {
      if (delivery.state !== "accepted") return;
      const plays = await delivery.driver.isPlaying?.().catch(() => false);
      if (plays) outcome(delivery.item.deliveryId, "playing");
      else queryStatus(delivery, attempts + 1);
    });
  };
  const stopDelivery = async (delivery: HttpSpeakerDelivery, why: StopRequest["reason"]): Promise<void> => {
    const { item, driver, state } = delivery;
    delivery.state = "off";
    if (!deliveries.delete(item.deliveryId)) return;
    if (state !== "accepted")
      return outcome(item.deliveryId, why === "expired" ? "expired" : "skipped", {
        reason: sentence("cancelled"),
        inconclusive: true,
      });
    if (driver.target && why !== "ended") await stream.close(driver.target, item.notificationId).catch(() => undefined);
    const error = await driver.stop?.(item).then(
      () => null,
      (error: unknown) => sentence("stop-failed", { error: errorMessage(error) }),
    );
    outcome(item.deliveryId, "accepted", error ? { reason: error } : {});
    await volumes.restore(item.device, driver);
  };
  const enqueue = (item: DeliveryItem): void => {
    try {
      const delivery: HttpSpeakerDelivery = { item, driver: deps.driverOf(item.device), state: "asked" };
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
        if (delivery) serialize(delivery.item.device.deviceIdentifier, () => stopDelivery(delivery, reason));
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
