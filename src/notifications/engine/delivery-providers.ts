import type { DeliveryItem, OutcomeDetails, OutcomeLevel, StopRequest } from "../../plugin-api/index.ts";
import type { ProfileSchema, ProfileSetting } from "../compose/profile-settings.ts";

/** The channels that carry deliveries, as the pipeline sees them; the plugin host stands behind it. */
export interface DeliveryProviders {
  /** `absent` = no such plugin. Items given to a provider that is not running are kept until it runs or they expire. */
  state(provider: string): "running" | "restarting" | "disabled" | "absent";
  /** Items a provider may hold without outcome. */
  window(provider: string): number;
  /** True for one that calls its devices, so that each call has to be ended. */
  placesCalls(provider: string): boolean;
  /** Id of the extension behind which a provider stands. */
  extensionId(provider: string): string;
  /** What profiles may say of the provider behind an extension; null where it does not say. */
  profileSchema(extensionId: string): ProfileSchema | null;
  /** Hands over at most 200 items; never blocks, never throws. */
  deliver(provider: string, items: DeliveryItem[]): void;
  stop(provider: string, request: StopRequest): void;
}

/** One report of a provider about one delivery; `at` is epoch ms of its arrival. */
export interface DeliveryOutcome {
  provider: string;
  deliveryId: number;
  level: OutcomeLevel;
  details: OutcomeDetails;
  at: number;
  /** Nothing more will be said of it: the delivery ends where it stands. */
  isLast?: boolean;
  /** The device did it without the appliance, which had given it up. */
  isAutonomous?: boolean;
}

/** Carries messages to devices of other appliances, where there is such a channel; these play and prove by themselves. */
export const APPLIANCES_PROVIDER = "appliances";

/** What the settings of a message say of one provider; `value` has the defaults filled in. */
export function providerSettings(
  provider: string,
  settings: readonly ProfileSetting[],
  providers: Pick<DeliveryProviders, "extensionId" | "profileSchema">,
): Pick<ProfileSetting, "disabled" | "value"> {
  const id = providers.extensionId(provider);
  const { disabled = false, value = {} } = settings.find((setting) => setting.id === id) ?? {};
  return { disabled, value: providers.profileSchema(id)?.withDefaults(value) ?? value };
}
