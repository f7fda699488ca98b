import { RE2JS } from "re2js";
import type { PluginManifest } from "../plugin-api/index.ts";

/** A manifest that claims a pattern already claimed. */
export interface ClaimConflict {
  plugin: string;
  /** The plugin that keeps the claim. */
  holder: string;
  type: string;
  identifier: string;
}

/** First pattern of `manifest` that one of `others` claims as well; null without a conflict. */
export function findClaimConflict(manifest: PluginManifest, others: readonly PluginManifest[]): ClaimConflict | null {
  for (const { type, identifier } of manifest.claims) {
    const holder = others.find((other) =>
      other.claims.some((claim) => claim.type === type && claim.identifier === identifier),
    );
    if (holder) return { plugin: manifest.name, holder: holder.name, type, identifier };
  }
  return null;
}

/**
 * Compiles claims to one lookup: the plugin that claims a device, null if none does. Patterns match anywhere in the
 * identifier, in linear time; the first matching manifest wins.
 */
export function compileClaims(
  manifests: readonly PluginManifest[],
): (type: string, deviceIdentifier: string) => string | null {
  const claims = manifests.flatMap(({ name, claims }) =>
    claims.map(({ type, identifier }) => ({ name, type, pattern: RE2JS.compile(identifier) })),
  );
  return (type, deviceIdentifier) =>
    claims.find((claim) => claim.type === type && claim.pattern.matcher(deviceIdentifier).find())?.name ?? null;
}
