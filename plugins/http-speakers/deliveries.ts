import type { DeliveryItem, PluginContext, StopRequest } from "#plugin-api";
import { type Driver, Refusal } from "./driver.ts";
import type { Volumes } from "./volumes.ts";

/** All deliveries of the plugin. */
export interface Deliveries {
  take(items: readonly DeliveryItem[]): void;
  stop(request: StopRequest): void;
  /** True while a message is at a device. */
  isBusy(deviceIdentifier: string): boolean;
  sweep(): void;
}

/** What deliveries need; `driverOf` throws a Refusal. */
export interface DeliveriesNeeds extends Pick<PluginContext, "clock" | "outcome" | "stream" | "log"> {
  driverOf(device: DeliveryItem["device"]): Driver;
  volumes: Volumes;
}

interface Delivery {
  item: DeliveryItem;
  driver: Driver;
  state: "asked" | "accepted" | "off";
}

const STATUS_EVERY_MS = 1_000;
const MOST_QUESTIONS = 10;
const KEPT_MS = 3_600_000;

/** Makes the flow: volume, start, the stream where it takes one, stop, the volume back. One step at a time with each device. */
export function createDeliveries(needs: DeliveriesNeeds): Deliveries {
  const { clock, outcome, stream, volumes, log } = needs;
  const deliveries = new Map<number, Delivery>();
  const turns = new Map<string, Promise<void>>();
  /** Which delivery's text a device shows for a time of its own. */
  const shown = new Map<string, number>();

  /** Steps with one device keep their order; what goes wrong is told by the step itself. */
  const inTurn = (device: string, step: () => Promise<void>): void => {
    const turn = (turns.get(device) ?? Promise.resolve()).then(step).catch((error: unknown) => {
      log.warn({ device, err: wordsOf(error) }, "a device did not do what it was told");
    });
    turns.set(device, turn);
    void turn.then(() => turns.get(device) === turn && turns.delete(device));
  };

  const start = async (delivery: Delivery): Promise<void> => {
    const { item, driver } = delivery;
    const { deliveryId, profile, device, audio } = item;
    if (delivery.state === "off") return;
    try {
      // What only shows something is never told to stop, and so would keep another volume.
      const volume = !audio || profile.volume === "As-Is" ? null : driver.volume?.words[profile.volume];
      if (volume) await volumes.set(device, driver, volume);
      await driver.start(item);
      delivery.state = "accepted";
      outcome(deliveryId, "accepted");
      if (audio && driver.target)
        await stream.open({ ...driver.target, codec: "PCMU", ttl: audio.ttl }, item.notificationId);
      if (driver.isPlaying) followUp(delivery, 0);
      showFor(delivery, profile.durationMs);
    } catch (error) {
      deliveries.delete(deliveryId);
      // Nobody will tell it to stop once it has failed.
      if (delivery.state === "accepted") await driver.stop?.(item).catch(() => undefined);
      outcome(deliveryId, "failed", {
        reason: wordsOf(error),
        retryable: !(error instanceof Refusal) || error.retryable,
      });
      await volumes.restore(device, driver);
    }
  };
  /** What only shows something is told to stop by nobody else. */
  const showFor = ({ item, driver }: Delivery, forMs: number | null): void => {
    const { deviceIdentifier } = item.device;
    shown.delete(deviceIdentifier);
    if (forMs === null || item.audio || !driver.stop) return;
    shown.set(deviceIdentifier, item.deliveryId);
    const isShown = (): boolean => shown.get(deviceIdentifier) === item.deliveryId;
    clock.after(forMs, () => {
      if (!isShown()) return;
      inTurn(deviceIdentifier, async () => {
        if (!isShown()) return;
        shown.delete(deviceIdentifier);
        deliveries.delete(item.deliveryId);
        await driver.stop?.(item);
      });
    });
  };
  const followUp = (delivery: Delivery, questions: number): void => {
    if (questions >= MOST_QUESTIONS) return;
    clock.after(STATUS_EVERY_MS, async () => {
      if (delivery.state !== "accepted") return;
      const plays = await delivery.driver.isPlaying?.().catch(() => false);
      if (plays) outcome(delivery.item.deliveryId, "playing");
      else followUp(delivery, questions + 1);
    });
  };
  const end = async (delivery: Delivery, isOver: boolean): Promise<void> => {
    const { item, driver, state } = delivery;
    delivery.state = "off";
    if (!deliveries.delete(item.deliveryId)) return;
    if (state !== "accepted")
      return outcome(item.deliveryId, "skipped", { reason: "it was called off before the device was asked" });
    if (driver.target && !isOver) await stream.close(driver.target, item.notificationId).catch(() => undefined);
    const fault = await driver.stop?.(item).then(
      () => null,
      (error: unknown) => `the device could not be told to stop: ${wordsOf(error)}`,
    );
    outcome(item.deliveryId, "accepted", fault ? { reason: fault } : {});
    await volumes.restore(item.device, driver);
  };
  const begin = (item: DeliveryItem): void => {
    try {
      const delivery: Delivery = { item, driver: needs.driverOf(item.device), state: "asked" };
      deliveries.set(item.deliveryId, delivery);
      inTurn(item.device.deviceIdentifier, () => start(delivery));
    } catch (error) {
      outcome(item.deliveryId, "failed", { reason: wordsOf(error), retryable: false });
    }
  };
  return {
    take(items) {
      for (const item of items) begin(item);
    },
    stop({ deliveryIds, reason }) {
      for (const id of deliveryIds) {
        const delivery = deliveries.get(id);
        if (delivery) inTurn(delivery.item.device.deviceIdentifier, () => end(delivery, reason === "ended"));
      }
    },
    isBusy: (identifier) =>
      turns.has(identifier) ||
      [...deliveries.values()].some(
        ({ item, state }) => item.audio && state !== "off" && item.device.deviceIdentifier === identifier,
      ),
    sweep() {
      const before = clock.now() - KEPT_MS;
      for (const [id, { item }] of deliveries) if (item.notAfter < before) deliveries.delete(id);
    },
  };
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
