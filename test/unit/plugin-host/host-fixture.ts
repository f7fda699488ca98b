import { afterEach } from "vitest";
import type { ConfigFields, PluginContext, PluginManifest } from "../../../src/plugin-api/index.ts";
import { extensionIdOf } from "../../../src/plugin-host/extension-rows.ts";
import type { PluginCallbacks } from "../../../src/plugin-host/plugin-host.ts";
import { launchInline } from "../../../src/plugin-host/plugin-instance.ts";
import extensions from "../../../src/resources/devices/extensions.ts";
import { anyActor, openAppliance, type TestAppliance } from "../../plugins/test-appliance.ts";
import { createFakeClock, type FakeClock } from "../../support/fake-clock.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { manifestOf, writePlugin } from "./plugin-fixture.ts";

/** A plugin whose code stands in the test. */
export interface TestPlugin {
  manifest?: Partial<PluginManifest>;
  fields?: ConfigFields;
  activate?: (ctx: PluginContext) => Promise<void> | void;
}

/** A test appliance with a running host over inline plugins. */
export type Opened = TestAppliance & {
  clock: FakeClock;
  /** How often each plugin was started. */
  starts: Record<string, number>;
  /** Writes the extension row of a plugin. */
  change(plugin: string, input: object): Promise<void>;
  /** What the API shows of the row besides its fields. */
  shown(plugin: string): Record<string, unknown> | undefined;
};

let opened: Opened | null = null;
afterEach(async () => {
  await opened?.close();
  opened = null;
});

/** Opens a host over inline plugins; each gets a number of its own by `starts`. */
export async function open(
  plugins: Record<string, TestPlugin>,
  more: Partial<Pick<PluginCallbacks, "openStream" | "confirm" | "trigger">> & { dataDir?: string } = {},
): Promise<Opened> {
  const folder = makeTempDir();
  const clock = createFakeClock();
  const starts: Record<string, number> = {};
  for (const [name, { manifest, fields }] of Object.entries(plugins))
    writePlugin(folder, manifestOf(name, manifest), fields);
  const { dataDir = makeTempDir(), ...needs } = more;
  const appliance = await openAppliance(dataDir, new URL(`file://${folder}/`), {
    ...needs,
    clock,
    launch: ({ manifest: { name } }) => {
      const { fields = {}, activate = () => {} } = plugins[name] ?? {};
      const run = (ctx: PluginContext): Promise<void> | void => {
        starts[name] = (starts[name] ?? 0) + 1;
        return activate(ctx);
      };
      return launchInline({ config: fields, activate: run as never }, clock);
    },
  });
  opened = {
    ...appliance,
    clock,
    starts,
    async change(plugin, input) {
      await appliance.store.update(extensions, extensionIdOf(plugin), input, anyActor);
      await clock.advance(20);
    },
    shown(plugin) {
      const row = appliance.store.get(extensions, extensionIdOf(plugin));
      if (!row) return undefined;
      const context = {
        reader: appliance.store,
        sentences: appliance.host.sentences,
        scope: anyActor.scope,
        query: {},
        params: {},
        hide: <R>(_resource: unknown, rows: readonly R[]) => rows,
      };
      return appliance.host.extensionHooks.present?.([row], context)[0];
    },
  };
  await opened.host.start();
  await clock.advance(20);
  return opened;
}

/** Makes a call of a plugin's context from the test, as soon as the plugin runs. */
export function remote(): { plugin: TestPlugin; ctx(): PluginContext } {
  const seen: PluginContext[] = [];
  return {
    plugin: { activate: (ctx) => void seen.push(ctx) },
    ctx() {
      const ctx = seen.at(-1);
      if (!ctx) throw new RangeError("the plugin has not run");
      return ctx;
    },
  };
}

/** An `activate` that accepts every delivery. */
export const taking = (ctx: PluginContext): void =>
  ctx.deliver((batch) => {
    for (const { deliveryId } of batch) ctx.outcome(deliveryId, "accepted");
  });
