import type { Named, RowOf } from "./rows.ts";

/** A campus, a plant or another location with its own address. */
export type SiteRow = RowOf<"Site">;
/** A building of a site. */
export type BuildingRow = RowOf<"Building">;
/** A floor of a building. */
export type FloorRow = RowOf<"Floor">;
/** A part that people play at sites. */
export type SiteRoleRow = RowOf<"SiteRole">;

/** People assigned to a role at a site. */
export type SiteRecipientRow = RowOf<"SiteRecipient"> & {
  siteRole: Named | null;
  distributionLists: readonly Named[];
  users: readonly Named[];
  deviceGroups: readonly Named[];
  areasOfInterest: readonly Named[];
  collaborationGroups: readonly Named[];
};

/** An input (panic button or external system) and its location. */
export type ApiDeviceRow = RowOf<"ApiDevice", "site" | "building" | "floor" | "zone">;

/** A number that people dial, and what happens then. */
export type DialingConfigurationRow = RowOf<
  "DialcastDialingConfiguration",
  "messageTemplate" | "deviceGroups" | "distributionLists"
>;

/** A circle on the map. */
export type AreaRow = RowOf<"AreaOfInterest">;

/** Action when someone crosses the boundary of an area. */
export type BoundaryTriggerRow = RowOf<"BoundaryTrigger"> & { messageTemplate?: Named | null };

/** One execution of a trigger. */
export type BoundaryActivityRow = RowOf<"BoundaryTriggerActivity"> & { user?: Named | null };

/** How the organisation shows itself. */
export type BrandingRow = RowOf<"Branding">;

/** A group of another system. */
export type ChatGroupRow = RowOf<"CollaborationGroup">;

/** How messages are sent, channel by channel. */
export type ProfileRow = RowOf<"NotificationProfile">;

/** Settings of a profile for one channel. */
export interface ProfileSettingRow {
  /** Id of the extension. */
  id: string;
  name: string;
  disabled: boolean;
  value: unknown;
  extension: { effectiveConfig: unknown; disabled: boolean; globalDisabled: boolean };
}

/** A voice that speaks. */
export type VoiceRow = RowOf<"TtsVoice">;
/** A word with its pronunciation. */
export type LexiconRow = RowOf<"TtsLexicon">;
/** The voice of messages that name none. */
export type SpeechDefaultRow = RowOf<"TtsDefault">;
