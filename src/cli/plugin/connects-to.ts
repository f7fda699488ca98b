import type { PluginNetwork } from "../../plugin-api/index.ts";

/** Where an installed plugin connects to, as a text. */
export function connectsTo({ hosts = [], settings = [], deviceAttributes = [] }: PluginNetwork): string {
  const parts = [
    ...hosts,
    ...settings.map((name) => `what its setting ${name} holds`),
    ...deviceAttributes.map((name) => `what ${name} of its devices holds`),
  ];
  return parts.join(", ") || "nothing";
}
