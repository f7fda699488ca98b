import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { Command } from "commander";
import { invalidValue } from "../../lib/errors.ts";
import { EXIT } from "../../lib/exit-codes.ts";
import type { Terminal } from "../../lib/terminal.ts";
import { type CheckedPlugin, printSteps, withCheckedPlugin } from "./checked-plugin.ts";
import { addEnableDisable } from "./enable-disable.ts";
import { addList } from "./list.ts";
import { addSign } from "./sign.ts";

interface InstallOptions {
  data: string;
  config?: string;
  yes?: true;
  unsigned?: true;
}

/** `carillon plugin`: for authors of plugins, and for administrators who install them. */
export function addPlugin(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  const plugin = program
    .command("plugin")
    .description("Create, check, sign, install, list, enable and disable plugins.")
    .addHelpText("after", "\nExample:\n  carillon plugin new lamp && carillon plugin check lamp");
  plugin
    .command("new <folder>")
    .description("Create the folder of a new working plugin, named like the folder, that passes every check.")
    .addHelpText("after", "\nExample:\n  carillon plugin new lamp")
    .action(async (folder: string) => {
      await createPluginFolder(folder);
      terminal.out(`Created ${folder}. Next: carillon plugin check ${folder}`);
    });
  plugin
    .command("check <folder>")
    .description("Check a plugin (folder or .tgz) for conformance with the plugin contract.")
    .option("--data <dir>", "data directory of an appliance: also check for conflicts with its plugins")
    .addHelpText("after", "\nExample:\n  carillon plugin check lamp")
    .action(async (source: string, { data }: { data?: string }) => {
      const options = { runsPeer: true, ...(data !== undefined && { data }) };
      const passed = await withCheckedPlugin(source, options, (checked) => printSteps(checked, terminal));
      terminal.out(
        passed ? `Next: carillon plugin install ${source} --data data` : "Fix the errors above, then check again.",
      );
      finish(passed ? EXIT.ok : EXIT.failure);
    });
  plugin
    .command("install <folder>")
    .description("Check a plugin (folder or .tgz), show what it requests, and install it.")
    .requiredOption("--data <dir>", "data directory of the appliance")
    .option("--config <file>", "settings file (YAML) of the appliance, with the trusted publishers")
    .option("--yes", "confirm what the plugin requests")
    .option("--unsigned", "install a plugin that no trusted publisher signed")
    .addHelpText(
      "after",
      "\nExample:\n  carillon plugin install lamp-0.1.0.tgz --data data --config carillon.yaml --yes\n\n" +
        "Packages are signed by the publishers in trust.plugins of the settings. An installed plugin runs in a process without\n" +
        "rights; install unsigned ones only from people whom you trust. A new plugin is disabled; a running daemon loads it at once.",
    )
    .action(async (source: string, { data, config, yes, unsigned }: InstallOptions) => {
      const { installPlugin } = await import("./install.ts");
      const { readSettings } = await import("../settings.ts");
      const settings = await readSettings(terminal, config);
      if (typeof settings === "number") return finish(settings);
      const { plugins: keys, unsignedPlugins } = settings.trust;
      const install = (checked: CheckedPlugin): Promise<boolean> | boolean => {
        if (!printSteps(checked, terminal)) return false;
        const allowsUnsigned = unsignedPlugins && Boolean(unsigned);
        return installPlugin(checked, data, { isAgreed: Boolean(yes), allowsUnsigned }, terminal);
      };
      const options = { data, runsPeer: false, trust: { keys, allowsUnsigned: unsignedPlugins } };
      finish((await withCheckedPlugin(source, options, install)) ? EXIT.ok : EXIT.failure);
    });
  addSign(plugin, terminal, finish);
  addList(plugin, terminal);
  addEnableDisable(plugin, terminal, finish);
}

async function createPluginFolder(folder: string): Promise<void> {
  const { PLUGIN_NAME } = await import("../../plugin-host/manifest.ts");
  const { pluginTemplate } = await import("./template.ts");
  const name = basename(resolve(folder));
  if (!PLUGIN_NAME.test(name))
    throw invalidValue("folder", "The folder name must consist of lower-case letters, digits and hyphens.");
  if (existsSync(folder) && readdirSync(folder).length > 0) throw invalidValue("folder", "The folder must be empty.");
  mkdirSync(folder, { recursive: true });
  for (const [file, text] of Object.entries(pluginTemplate(name))) {
    const path = join(folder, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text, { mode: 0o644 });
  }
}
