import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { PluginDefinition, PluginManifest } from "../../src/plugin-api/index.ts";
import { builtInPluginFolder, findPlugins } from "../../src/plugin-host/installed-plugins.ts";
import { readManifest } from "../../src/plugin-host/manifest.ts";
import { createPluginConfig } from "../../src/plugin-host/plugin-config.ts";
import { launchInWorker } from "../../src/plugin-host/plugin-instance.ts";
import type { FromPlugin, PluginInit, ToPlugin } from "../../src/plugin-host/plugin-protocol.ts";
import { createPluginRuntime } from "../../src/plugin-host/plugin-runtime.ts";
import type { Secrets } from "../../src/store/store.ts";
import { pluginBoundaryViolations } from "../rules/module-boundaries.ts";
import { readSourceTree } from "../rules/source-tree.ts";
import { createFakeClock } from "../support/fake-clock.ts";

const PLUGINS = new URL("../../plugins/", import.meta.url);
const names = readdirSync(PLUGINS);
const plainSecrets: Secrets = { seal: (plain) => plain, open: (sealed) => sealed };

function textOf(name: string, file: string): string {
  return readFileSync(new URL(`${name}/${file}`, PLUGINS), "utf8");
}

function manifestOf(name: string): PluginManifest {
  return JSON.parse(textOf(name, "plugin.json")) as PluginManifest;
}

async function definitionOf(name: string): Promise<PluginDefinition> {
  const { default: definition } = (await import(new URL(`${name}/index.ts`, PLUGINS).href)) as {
    default: PluginDefinition;
  };
  return definition;
}

/** What the host would start the plugin with when nobody has configured it. */
async function initOf(name: string): Promise<PluginInit> {
  const { listens, watches } = manifestOf(name);
  const { config } = await definitionOf(name);
  const port = { host: "127.0.0.1", port: 0, publicUrl: null };
  return {
    plugin: name,
    config: createPluginConfig(config, plainSecrets).toRuntime({}).config,
    ports: Object.fromEntries(listens.map((each) => [each, port])),
    watches,
    allowedTargets: ["127.0.0.0/8"],
    baseUrl: "http://127.0.0.1",
    multicastInterface: "127.0.0.1",
  };
}

/** Opens the plugin's door in this thread over a clock that counts its timers. The host's answer to any call is empty. */
async function openInline(name: string, change: (definition: PluginDefinition) => PluginDefinition = (same) => same) {
  const clock = createFakeClock();
  const said: FromPlugin[] = [];
  let tell: (message: ToPlugin) => void = () => {};
  let onStopped = (): void => {};
  const stopped = new Promise<void>((resolve) => {
    onStopped = resolve;
  });
  const send = (message: FromPlugin): void => {
    said.push(message);
    if (message.kind === "call") tell({ kind: "reply", id: message.id, value: undefined });
    if (message.kind === "stopped") onStopped();
  };
  const receive = (handler: typeof tell): void => {
    tell = handler;
  };
  await createPluginRuntime({ send, receive }, await initOf(name), clock).start(change(await definitionOf(name)));
  const stop = (): Promise<void> => {
    tell({ kind: "shutdown" });
    return stopped;
  };
  return { clock, said, stop };
}

function urlsOf(said: readonly FromPlugin[]): string[] {
  return said.flatMap((message) => (message.kind === "listening" ? [message.url] : []));
}

async function expectClosed(urls: readonly string[]): Promise<void> {
  for (const url of urls) await expect(fetch(url)).rejects.toThrow();
}

it("finds the built plugins", () => {
  expect(names.length).toBeGreaterThan(1);
  const { installed, refused } = findPlugins(builtInPluginFolder());
  expect(refused).toEqual([]);
  expect(installed.map(({ manifest }) => manifest.name)).toEqual([...names].sort());
});

describe.each(names)("%s", (name) => {
  it("has a valid manifest", () => {
    expect(readManifest(textOf(name, "plugin.json"), name).errors).toBeUndefined();
  });

  it("lists the packages it imports, and imports only #plugin-api of Carillon", () => {
    expect(pluginBoundaryViolations(readSourceTree([`plugins/${name}`], () => true))).toEqual([]);
    const { dependencies } = JSON.parse(readFileSync(new URL("../package.json", PLUGINS), "utf8")) as {
      dependencies: Record<string, string>;
    };
    for (const each of manifestOf(name).packages) expect(Object.keys(dependencies)).toContain(each);
  });

  it("explains its configuration and its ports in its README", () => {
    const readme = textOf(name, "README.md");
    for (const port of manifestOf(name).listens) expect(readme).toContain(port);
    return definitionOf(name).then(({ config }) => {
      for (const field of Object.keys(config)) expect(readme).toContain(field);
    });
  });

  it("documents its fields, marks secrets, and runs with defaults", async () => {
    const { config } = await definitionOf(name);
    const { default: alone } = (await import(new URL(`${name}/config.ts`, PLUGINS).href)) as { default: unknown };
    expect(alone).toBe(config);
    for (const [field, spec] of Object.entries(config)) {
      expect(spec.doc, field).toMatch(/\S/);
      if (/password|secret|token/i.test(field)) expect(spec.kind, field).toBe("secret");
    }
    expect(() => createPluginConfig(config, plainSecrets).toRuntime({})).not.toThrow();
  });

  it("opens its ports, and leaves no port and no timer after a stop", async () => {
    const { clock, said, stop } = await openInline(name);
    expect(said.at(-1)).toEqual({ kind: "active" });
    expect(said.flatMap((message) => (message.kind === "listening" ? [message.name] : []))).toEqual(
      manifestOf(name).listens,
    );
    await stop();
    expect(clock.pendingTimers()).toBe(0);
    await expectClosed(urlsOf(said));
  });

  it("leaves no port and no timer when its start fails", async () => {
    const { clock, said } = await openInline(name, ({ config, activate }) => ({
      config,
      async activate(ctx) {
        await activate(ctx);
        throw new RangeError("the last step failed");
      },
    }));
    expect(said.at(-1)).toMatchObject({ kind: "fault", message: "the last step failed" });
    expect(clock.pendingTimers()).toBe(0);
    await expectClosed(urlsOf(said));
  });

  it("lets its thread exit by itself after a stop", async () => {
    const init = await initOf(name);
    const said: FromPlugin[] = [];
    const end = new Promise<string>((resolve) => {
      const launch = launchInWorker(new URL(`${name}/index.js`, builtInPluginFolder()), 128, () => {});
      const instance = launch(init, {
        onMessage(message) {
          said.push(message);
          if (message.kind === "call") instance.send({ kind: "reply", id: message.id, value: undefined });
          if (message.kind === "active") instance.send({ kind: "shutdown" });
        },
        onEnd: resolve,
      });
    });
    expect(await end).toBe("the process exited with code 0");
    expect(said.at(-1)).toEqual({ kind: "stopped" });
  });
});
