import type { DeliveryItem } from "../../src/plugin-api/index.ts";

/** What a peer may know of the plugin that it stands opposite to. */
export interface PeerNeeds {
  /** URLs of the plugin's open own ports by `<plugin>/<name>`; asked when needed, since they open with the plugin. */
  urls(): Readonly<Record<string, string>>;
}

/**
 * A device on loopback that takes everything a plugin sends and stays mute: it never shows that anybody hears or sees
 * anything. Every plugin is run against one and must not report more than the peer gave it.
 */
export interface MutePeer {
  /** Configuration of the plugin, secrets in the clear. */
  readonly config: Record<string, unknown>;
  /** The device to deliver to, with the attributes that lead to the peer. */
  readonly device: DeliveryItem["device"];
  /** What the peer's taking proves: the plugin must report this level, and none above it. */
  readonly proves: "sent" | "accepted";
  /**
   * Resolves when the plugin has asked for further proof and was shown that there is none; at once for a channel that
   * has no such question.
   */
  asked(): Promise<void>;
  close(): Promise<void>;
}

/** Default export of `peers/<plugin>.ts`. */
export type OpenMutePeer = (needs: PeerNeeds) => Promise<MutePeer>;
