import type { Command } from "commander";
import { CallerError, UpstreamError } from "../lib/errors.ts";
import { EXIT } from "../lib/exit-codes.ts";
import type { Terminal } from "../lib/terminal.ts";
import type { Settings } from "../settings/schema.ts";
import { printCommandError } from "./terminal.ts";

/** `carillon settings check | show | schema`. */
export function addSettings(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  const settings = program
    .command("settings")
    .alias("config")
    .description("Check a settings file, or print the settings and their schema.")
    .addHelpText(
      "after",
      "\n`carillon config` is an alias.\n\nExample:\n  carillon config check carillon.yaml\n  carillon settings show carillon.yaml",
    );
  settings
    .command("check")
    .description("Check a settings file and report every error.")
    .argument("<file>", "YAML file")
    .addHelpText("after", "\nExample:\n  carillon settings check /etc/carillon/carillon.yaml")
    .action(async (file: string) => {
      const { builtInPluginFolder, findPlugins } = await import("../plugin-host/installed-plugins.ts");
      const { unknownPluginSettings } = await import("../plugin-host/unknown-settings.ts");
      const read = await readSettings(terminal, file);
      if (typeof read === "number") return finish(read);
      const { installed } = findPlugins(builtInPluginFolder());
      const unknown = unknownPluginSettings(
        read,
        installed.map(({ manifest }) => manifest),
      );
      if (unknown.length > 0) return finish(printSettingsErrors(terminal, settingsErrors(file, unknown)));
      terminal.out(`${file} is valid.`);
    });
  settings
    .command("show")
    .description("Print the effective settings as JSON, including defaults. They contain no secrets.")
    .argument("[file]", "YAML file; without it the defaults are printed")
    .addHelpText("after", "\nExample:\n  carillon settings show carillon.yaml")
    .action(async (file: string | undefined) => {
      const read = await readSettings(terminal, file);
      if (typeof read === "number") return finish(read);
      terminal.out(JSON.stringify(read, null, 2));
    });
  settings
    .command("schema")
    .description("Print the JSON Schema of the settings file.")
    .addHelpText("after", "\nExample:\n  carillon settings schema > config/settings.schema.json")
    .action(async () => {
      const { settingsJsonSchema } = await import("../settings/schema.ts");
      terminal.out(JSON.stringify(settingsJsonSchema(), null, 2));
    });
}

/** The settings in `file`, or the defaults; if the file is invalid, prints the errors on stderr and returns the exit code. */
export async function readSettings(terminal: Terminal, file: string | undefined): Promise<Settings | number> {
  const { defaultSettings } = await import("../settings/schema.ts");
  try {
    if (file === undefined) return defaultSettings();
    // The YAML parser is large, and most starts have no settings file.
    const { loadSettings } = await import("../settings/load-settings.ts");
    return loadSettings(file);
  } catch (error) {
    if (!(error instanceof CallerError) && !(error instanceof UpstreamError)) throw error;
    if (error instanceof UpstreamError) return printSettingsErrors(terminal, error.message);
    const lines = error.faults.map(({ field, message }) => (field === null ? message : `${field}: ${message}`));
    return printSettingsErrors(terminal, settingsErrors(file, lines.length > 0 ? lines : [error.message]));
  }
}

function settingsErrors(file: string | undefined, errors: readonly string[]): string {
  return [`${file} is invalid, nothing was done:`, ...errors].join("\n  ");
}

function printSettingsErrors(terminal: Terminal, message: string): number {
  return printCommandError(terminal, {
    exitCode: EXIT.settings,
    message,
    next: "carillon settings show prints every setting with its value; config/carillon.example.yaml documents them.",
  });
}
