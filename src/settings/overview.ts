import { type Settings, settingsJsonSchema } from "./schema.ts";

/** One setting as people look at it. */
export interface SettingLine {
  /** Its place in the file: `backups.keepDays`. */
  name: string;
  doc: string;
  /** JSON, as is the default. */
  value: string;
  default: string;
}

interface Node {
  description?: string;
  default?: unknown;
  properties?: Record<string, Node>;
}

/** All settings in the order of the schema; what holds further settings is not one itself. */
export function settingLines(settings: Settings, defaults: Settings): SettingLine[] {
  return linesOf(settingsJsonSchema() as Node, settings, defaults, []);
}

function linesOf(node: Node, value: unknown, usual: unknown, path: readonly string[]): SettingLine[] {
  if (!node.properties) {
    const texts = { value: JSON.stringify(value), default: JSON.stringify(usual) };
    return [{ name: path.join("."), doc: node.description ?? "", ...texts }];
  }
  return Object.entries(node.properties).flatMap(([name, inner]) =>
    linesOf(inner, memberOf(value, name), memberOf(usual, name), [...path, name]),
  );
}

function memberOf(value: unknown, name: string): unknown {
  return (value as Record<string, unknown> | undefined)?.[name];
}
