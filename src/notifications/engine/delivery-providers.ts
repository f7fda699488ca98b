import { asGiven, type Sentence } from "../../lib/sentences/sentences.ts";
import type {
  DeliveryItem,
  DeviceFilterRequest,
  OutcomeDetails,
  OutcomeLevel,
  StopRequest,
} from "../../plugin-api/index.ts";
import type { ProfileSchema, ProfileSetting } from "../compose/profile-settings.ts";

/** The channels that carry deliveries, as the pipeline sees them; implemented by the plugin host. */
export interface DeliveryProviders {
  /** `absent` = no such plugin. Items for a provider that is not running are kept until it runs or they expire. */
  state(provider: string): "running" | "restarting" | "disabled" | "absent";
  /** Maximum number of items in flight. */
  window(provider: string): number;
  /** True for one that calls its devices, so that each call has to be ended. */
  placesCalls(provider: string): boolean;
  /** Id of the provider's extension. */
  extensionId(provider: string): string;
  /** Profile settings of the provider behind an extension; null where it declares none. */
  profileSchema(extensionId: string): ProfileSchema | null;
  /** Hands over at most 200 items; never blocks, never throws. */
  deliver(provider: string, items: DeliveryItem[]): void;
  stop(provider: string, request: StopRequest): void;
}

/** The devices to leave out, or why the filter gave no answer. */
export type FilterOutcome = { excluded: readonly string[]; reason?: string } | { problem: Sentence };

/** Extensions that narrow the devices of messages; implemented by the plugin host. */
export interface DeviceFilters {
  /** The enabled ones, by the names of their plugins. */
  names(): readonly string[];
  /** Never rejects. */
  ask(plugin: string, request: DeviceFilterRequest): Promise<FilterOutcome>;
}

/** One report of a provider on one delivery; `at` is its arrival, epoch ms. */
export interface DeliveryOutcome {
  provider: string;
  deliveryId: number;
  level: OutcomeLevel;
  details: OutcomeDetails;
  at: number;
  /** The last report: the delivery ends with its current state. */
  isLast?: boolean;
  /** The device acted on its own, after the appliance had abandoned the delivery. */
  isAutonomous?: boolean;
}

/** Provider that carries messages to the devices of other appliances, which play and prove on their own. */
export const APPLIANCES_PROVIDER = "appliances";

/** The message's settings for one provider; `value` includes the defaults. */
export function providerSettings(
  provider: string,
  settings: readonly ProfileSetting[],
  providers: Pick<DeliveryProviders, "extensionId" | "profileSchema">,
): Pick<ProfileSetting, "disabled" | "value"> {
  const id = providers.extensionId(provider);
  const { disabled = false, value = {} } = settings.find((setting) => setting.id === id) ?? {};
  return { disabled, value: providers.profileSchema(id)?.withDefaults(value) ?? value };
}

/** The reason that a channel gives, in its words; null without one. */
export function reasonOf({ reason }: Pick<OutcomeDetails, "reason">): Sentence | null {
  return reason === undefined ? null : asGiven(reason);
}
