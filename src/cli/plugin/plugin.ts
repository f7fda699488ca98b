import { existsSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import type { Command } from "commander";
import { systemClock } from "../../lib/clock.ts";
import { invalidValue } from "../../lib/errors.ts";
import { checkPlugin, type PluginCheckResult } from "../../plugin-host/contract/check-plugin.ts";
import { builtInPluginFolder, findPlugins, installedPluginFolder } from "../../plugin-host/installed-plugins.ts";
import { PLUGIN_NAME } from "../../plugin-host/manifest.ts";
import { EXIT } from "../exit-codes.ts";
import type { Terminal } from "../terminal.ts";
import { addEnableDisable } from "./enable-disable.ts";
import { installPlugin } from "./install.ts";
import { unpackPluginPackage } from "./package-file.ts";
import { pluginTemplate } from "./template.ts";

/** `carillon plugin`: for those who write plugins, and for those who install what others wrote. */
export function addPlugin(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  const plugin = program
    .command("plugin")
    .description("Write, check, install and switch plugins.")
    .addHelpText("after", "\nExample:\n  carillon plugin new lamp && carillon plugin check lamp");
  plugin
    .command("new <folder>")
    .description("Make the folder of a new plugin, named like it, that works and passes every check.")
    .addHelpText("after", "\nExample:\n  carillon plugin new lamp")
    .action((folder: string) => {
      createPluginFolder(folder);
      terminal.out(`made ${folder}; next: carillon plugin check ${folder}`);
    });
  plugin
    .command("check <folder>")
    .description("Hold a plugin, a folder or a .tgz, against the contract that every plugin keeps.")
    .option("--data <dir>", "data of the appliance whose other plugins it must get along with")
    .addHelpText("after", "\nExample:\n  carillon plugin check lamp")
    .action(async (source: string, { data }: { data?: string }) => {
      const passed = await withCheckedPlugin(source, data, (checked) => printSteps(checked, terminal));
      terminal.out(
        passed ? `next: carillon plugin install ${source} --data data` : "mend what is told above, then check again",
      );
      finish(passed ? EXIT.ok : EXIT.failure);
    });
  plugin
    .command("install <folder>")
    .description("Check a plugin, a folder or a .tgz, show what it asks for, and put it into an appliance's data.")
    .requiredOption("--data <dir>", "the appliance's data")
    .option("--yes", "you have read what it asks for, and want it")
    .addHelpText(
      "after",
      "\nExample:\n  carillon plugin install lamp --data data --yes\n\nNobody signs plugins: install what you trust. It starts switched off; a daemon that runs takes it up at once.",
    )
    .action(async (source: string, { data, yes }: { data: string; yes?: true }) => {
      const install = (checked: PluginCheckResult): Promise<boolean> | boolean =>
        printSteps(checked, terminal) && installPlugin(checked, data, Boolean(yes), terminal);
      finish((await withCheckedPlugin(source, data, install)) ? EXIT.ok : EXIT.failure);
    });
  addEnableDisable(plugin, terminal, finish);
}

function createPluginFolder(folder: string): void {
  const name = basename(resolve(folder));
  if (!PLUGIN_NAME.test(name)) throw invalidValue("folder", "Its name is of small letters, digits and hyphens.");
  if (existsSync(folder) && readdirSync(folder).length > 0) throw invalidValue("folder", "It is not empty.");
  mkdirSync(folder, { recursive: true });
  for (const [file, text] of Object.entries(pluginTemplate(name)))
    writeFileSync(join(folder, file), text, { mode: 0o644 });
}

/** Checks what lies at `source` and hands it over before everything made for that is removed. */
async function withCheckedPlugin<T>(
  source: string,
  data: string | undefined,
  use: (checked: PluginCheckResult) => Promise<T> | T,
): Promise<T> {
  if (!existsSync(source)) throw invalidValue("folder", `There is no ${source}.`);
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

/** Tells each step; true when all passed. */
function printSteps({ steps, built }: PluginCheckResult, terminal: Terminal): boolean {
  for (const { step, faults } of steps) {
    terminal.err(`${faults.length === 0 ? "ok  " : "FAIL"} ${step}`);
    for (const fault of faults) terminal.err(`       ${fault}`);
  }
  return built !== null;
}
