import { existsSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import type { Command } from "commander";
import { systemClock } from "../../lib/clock.ts";
import { invalidValue } from "../../lib/errors.ts";
import { EXIT } from "../../lib/exit-codes.ts";
import type { Terminal } from "../../lib/terminal.ts";
import type { PluginCheckResult } from "../../plugin-host/contract/check-plugin.ts";
import { addEnableDisable } from "./enable-disable.ts";

/** `carillon plugin`: for authors of plugins, and for administrators who install them. */
export function addPlugin(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  const plugin = program
    .command("plugin")
    .description("Create, check, install, enable and disable plugins.")
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
      const passed = await withCheckedPlugin(source, data, (checked) => printSteps(checked, terminal));
      terminal.out(
        passed ? `Next: carillon plugin install ${source} --data data` : "Fix the errors above, then check again.",
      );
      finish(passed ? EXIT.ok : EXIT.failure);
    });
  plugin
    .command("install <folder>")
    .description("Check a plugin (folder or .tgz), show what it requests, and install it.")
    .requiredOption("--data <dir>", "data directory of the appliance")
    .option("--yes", "confirm what the plugin requests")
    .addHelpText(
      "after",
      "\nExample:\n  carillon plugin install lamp --data data --yes\n\nPlugins are not signed: install only what you trust. A new plugin is disabled; a running daemon loads it at once.",
    )
    .action(async (source: string, { data, yes }: { data: string; yes?: true }) => {
      const { installPlugin } = await import("./install.ts");
      const install = (checked: PluginCheckResult): Promise<boolean> | boolean =>
        printSteps(checked, terminal) && installPlugin(checked, data, Boolean(yes), terminal);
      finish((await withCheckedPlugin(source, data, install)) ? EXIT.ok : EXIT.failure);
    });
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

/** Checks the plugin at `source` and passes the result to `use` before the temporary files are removed. */
async function withCheckedPlugin<T>(
  source: string,
  data: string | undefined,
  use: (checked: PluginCheckResult) => Promise<T> | T,
): Promise<T> {
  if (!existsSync(source)) throw invalidValue("folder", `${source} not found.`);
  const { checkPlugin } = await import("../../plugin-host/contract/check-plugin.ts");
  const { builtInPluginFolder, findPlugins, installedPluginFolder } = await import(
    "../../plugin-host/installed-plugins.ts"
  );
  const { unpackPluginPackage } = await import("./package-file.ts");
  const workDir = mkdtempSync(join(tmpdir(), "carillon-plugin-"));
  try {
    const sources = /\.(tgz|tar\.gz)$/.test(source) ? await unpackPluginPackage(source, workDir) : source;
    const others = findPlugins(
      builtInPluginFolder(),
      data === undefined ? null : installedPluginFolder(data),
    ).installed;
    const manifests = others.map(({ manifest }) => manifest);
    return await use(await checkPlugin({ sources, workDir, others: manifests, clock: systemClock }));
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
}

/** Prints each step; true when all passed. */
function printSteps({ steps, built }: PluginCheckResult, terminal: Terminal): boolean {
  for (const { step, errors } of steps) {
    terminal.err(`${errors.length === 0 ? "ok  " : "FAIL"} ${step}`);
    for (const error of errors) terminal.err(`       ${error}`);
  }
  return built !== null;
}
