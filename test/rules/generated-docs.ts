import type { LogCall } from "./wording.ts";

/** Replaces what stands between `<!-- name: begin -->` and `<!-- name: end -->`. */
export function withSection(text: string, name: string, content: string): string {
  const [begin, end] = [`<!-- ${name}: begin -->`, `<!-- ${name}: end -->`];
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`no section ${name}`);
  return `${text.slice(0, from + begin.length)}\n${content}\n${text.slice(to)}`;
}

/** The picture of the modules: layers from the top, each module with those that it imports directly. */
export function moduleDiagram(
  layers: Readonly<Record<string, number>>,
  imports: ReadonlyMap<string, ReadonlySet<string>>,
): string {
  const numbers = [...new Set(Object.values(layers))].sort((one, other) => other - one);
  const rows = numbers.map((number) => {
    const modules = Object.keys(layers).filter((name) => layers[name] === number);
    return `| ${number} | ${modules.map((name) => `\`${name}\``).join(" ")} |`;
  });
  const lines = Object.keys(layers)
    .sort((one, other) => (layers[other] ?? 0) - (layers[one] ?? 0) || one.localeCompare(other))
    .map((name) => `| \`${name}\` | ${[...(imports.get(name) ?? [])].sort().join(" ") || "–"} |`);
  return ["| Layer | Modules |", "|---|---|", ...rows, "", "| Module | Imports |", "|---|---|", ...lines].join("\n");
}

/** The table of log events: code, level, message and module. */
export function logEventTable(calls: readonly LogCall[]): string {
  const byEvent = new Map<string, LogCall[]>();
  for (const call of calls) if (call.event) byEvent.set(call.event, [...(byEvent.get(call.event) ?? []), call]);
  const rows = [...byEvent]
    .sort(([one], [other]) => one.localeCompare(other))
    .map(([event, found]) => {
      const unique = (values: string[]): string => [...new Set(values)].filter(Boolean).join("; ");
      const module = unique(found.map(({ path }) => path.split("/").slice(0, 2).join("/")));
      return `| \`${event}\` | ${unique(found.map(({ level }) => level))} | ${unique(found.map(({ message }) => message))} | ${module} |`;
    });
  return ["| Event | Level | Message | Source |", "|---|---|---|---|", ...rows].join("\n");
}
