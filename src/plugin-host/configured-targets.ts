/** Texts of the named settings, also within lists and objects: where the administrator points the plugin to. */
export function targetsInSettings(config: Readonly<Record<string, unknown>>, names: readonly string[]): string[] {
  return names.flatMap((name) => textsIn(config[name]));
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
