import { sentence } from "../lib/sentences/sentences.ts";
import type { PluginManifest } from "../plugin-api/index.ts";
import endpointActivities from "../resources/devices/endpoint-activities.ts";
import extensions from "../resources/devices/extensions.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/on-premises-extension.ts";
import type { Actor, ActorContext, Store } from "../store/store.ts";
import { extensionIdOf } from "./extension-rows.ts";
import type { InstalledPlugin } from "./installed-plugins.ts";

export interface PluginActivityDeps {
  store: Store;
  by: ActorContext;
  endpointId(): string;
}

/** Records on the appliance's endpoint that a plugin was stopped after too many failures. */
export async function recordPluginStopped(
  manifest: PluginManifest,
  reason: string,
  deps: PluginActivityDeps,
): Promise<void> {
  const { store, by, endpointId } = deps;
  const extensionId = extensionIdOf(manifest.name);
  const failureCode = store.get(extensions, extensionId)?.failureCode ?? null;
  await store.create(
    endpointActivities,
    {
      extensionId: ONPREM_EXTENSION_ID,
      endpointId: endpointId(),
      type: "log-message",
      state: "fail",
      severity: "error",
      value: { extensionId, plugin: manifest.name, failureCode, reason },
    },
    by,
  );
}

/** Records that code of others came onto the appliance; raises the alarm `security_change`. */
export async function recordPluginInstalled(
  { manifest, signedBy }: InstalledPlugin,
  { store, by }: Pick<PluginActivityDeps, "store" | "by">,
): Promise<void> {
  const { name, version } = manifest;
  const change =
    signedBy === null
      ? sentence("trust.plugin-unsigned", { name, version })
      : sentence("trust.plugin-signed", { name, version, publisher: signedBy });
  const event = {
    op: "trust-change" as const,
    resource: extensions.name,
    rowId: extensionIdOf(name),
    details: { change },
  };
  await store.write((tx) => tx.addAuditEvent(event, by));
}

/** Records on the appliance's endpoint who restarted a plugin. */
export async function recordPluginRestart(
  manifest: PluginManifest,
  { name, userId }: Pick<Actor, "name" | "userId">,
  { store, by, endpointId }: PluginActivityDeps,
): Promise<void> {
  const value = { extensionId: extensionIdOf(manifest.name), plugin: manifest.name, reason: "restarted manually" };
  await store.create(
    endpointActivities,
    {
      extensionId: ONPREM_EXTENSION_ID,
      endpointId: endpointId(),
      type: "log-message",
      state: "success",
      value: { ...value, userId, userName: name },
    },
    by,
  );
}
