import { type Settings, settingsJsonSchema } from "./schema.ts";

/** One setting as people look at it. */
export interface SettingEntry {
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

/** All settings in the order of the schema, without groups. */
export function listSettings(settings: Settings, defaults: Settings): SettingEntry[] {
  return entriesOf(settingsJsonSchema() as Node, settings, defaults, []);
}

function entriesOf(node: Node, value: unknown, defaultValue: unknown, path: readonly string[]): SettingEntry[] {
  if (!node.properties) {
    const texts = { value: JSON.stringify(value), default: JSON.stringify(defaultValue) };
    return [{ name: path.join("."), doc: node.description ?? "", ...texts }];
  }
  return Object.entries(node.properties).flatMap(([name, inner]) =>
    entriesOf(inner, memberOf(value, name), memberOf(defaultValue, name), [...path, name]),
  );
}

function memberOf(value: unknown, name: string): unknown {
  return (value as Record<string, unknown> | undefined)?.[name];
}
