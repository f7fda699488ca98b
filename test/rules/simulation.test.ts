import { describe, expect, it } from "vitest";
import { fixtureTree, readSourceTree, resolveFrom, type SourceTree } from "./source-tree.ts";
import { importsOf } from "./syntax.ts";

const tree = readSourceTree(["src", "test/sim"], (path) => path.endsWith(".ts"));

/** The given files and every file that they import, directly or not. */
function reachableFrom(entries: readonly string[], files: SourceTree): Set<string> {
  const reached = new Set<string>();
  const open = [...entries];
  for (let path = open.pop(); path; path = open.pop()) {
    const text = files.get(path);
    if (text === undefined || reached.has(path)) continue;
    reached.add(path);
    const importer = path;
    const relative = importsOf(path, text).filter(({ specifier }) => specifier.startsWith("."));
    open.push(...relative.map(({ specifier }) => resolveFrom(importer, specifier)));
  }
  return reached;
}

/** Files outside src/sync that import from it. Filters by text first: parsing the imports of all others takes long. */
function importersOfSync(files: SourceTree): string[] {
  const mentions = [...files].filter(([path, text]) => path.startsWith("src/") && text.includes("/sync/"));
  return mentions.map(([path]) => path).filter((path) => !path.startsWith("src/sync/"));
}

/**
 * Parts of src/sync that the simulation replaces by its own (sockets, certificates, the product's store and notifications)
 * or that only administration uses.
 */
const NOT_SIMULATED: readonly RegExp[] = [
  /^src\/sync\/(?:capture|identity|initial-sync|remote-delivery)\//,
  /^src\/sync\/transport\/(?!flow-control-window|priority-multiplexer)/,
  /^src\/sync\/protocol\/(?:key-challenge|product-replicated-types)\.ts$/,
  /^src\/sync\/hub\/(?:presence-store|remote-command-sender)\.ts$/,
  /^src\/sync\/site\/(?:checkpoint-waiters|hub-control-client|link-health|queue-status|status-reporter)\.ts$/,
];

function isProtocol(path: string): boolean {
  return path.startsWith("src/sync/") && !NOT_SIMULATED.some((pattern) => pattern.test(path));
}

/** Protocol files that the entries reach. */
function protocolFrom(entries: readonly string[], files: SourceTree = tree): string[] {
  return [...reachableFrom(entries, files)].filter(isProtocol).sort();
}

/** Protocol files that the daemon imports. */
function protocolOfDaemon(files: SourceTree): string[] {
  const relevant = new Map([...files].filter(([path]) => path.startsWith("src/sync/")));
  for (const path of importersOfSync(files)) relevant.set(path, files.get(path) ?? "");
  return protocolFrom(importersOfSync(files), relevant);
}

describe("the sync simulation", () => {
  it("runs every protocol file, among them all that the daemon runs", () => {
    const simulated = protocolFrom(["test/sim/main.ts"]);
    const protocol = [...tree.keys()].filter(isProtocol).sort();
    expect(protocol.length).toBeGreaterThan(20);
    expect(simulated).toEqual(protocol);
    expect(simulated).toEqual(expect.arrayContaining(protocolOfDaemon(tree)));
  });

  it("reports a file that only the daemon runs", () => {
    const files = fixtureTree({
      "src/main.ts": `import "./sync/a.ts"; import "./sync/b.ts";`,
      "src/sync/a.ts": "",
      "src/sync/b.ts": "",
      "test/sim/main.ts": `import "../../src/sync/a.ts";`,
    });
    expect(protocolFrom(["test/sim/main.ts"], files)).toEqual(["src/sync/a.ts"]);
    expect(protocolOfDaemon(files)).toEqual(["src/sync/a.ts", "src/sync/b.ts"]);
  });
});
