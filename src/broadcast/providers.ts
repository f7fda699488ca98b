import type { DeliveryItem, OutcomeDetails, OutcomeLevel, StopRequest } from "../plugin-api/index.ts";

/** The channels that carry deliveries, as the pipeline sees them; the plugin host stands behind it. */
export interface Providers {
  /** `absent` = no such plugin. Items given to a provider that is not running are kept until it runs or they expire. */
  state(provider: string): "running" | "restarting" | "disabled" | "absent";
  /** Items a provider may hold without outcome. */
  window(provider: string): number;
  /** Hands over at most 200 items; never blocks, never throws. */
  deliver(provider: string, items: DeliveryItem[]): void;
  stop(provider: string, request: StopRequest): void;
}

/** One report of a provider about one delivery; `at` is epoch ms of its arrival. */
export interface Outcome {
  provider: string;
  deliveryId: number;
  level: OutcomeLevel;
  details: OutcomeDetails;
  at: number;
}
