import { describe, expect, it } from "vitest";
import { fixtureTree, readSourceTree, resolveFrom, type SourceTree } from "./source-tree.ts";
import { importsOf } from "./syntax.ts";

const tree = readSourceTree(["src", "test/sim"], (path) => path.endsWith(".ts"));

/** Every file that the given ones import, and they themselves. */
function reachedFrom(entries: readonly string[], files: SourceTree): Set<string> {
  const reached = new Set<string>();
  const open = [...entries];
  for (let path = open.pop(); path; path = open.pop()) {
    const text = files.get(path);
    if (text === undefined || reached.has(path)) continue;
    reached.add(path);
    const own = path;
    const relative = importsOf(path, text).filter(({ specifier }) => specifier.startsWith("."));
    open.push(...relative.map(({ specifier }) => resolveFrom(own, specifier)));
  }
  return reached;
}

/** Files outside the room that import of it: reading all others for what they import takes long. */
function doorsOf(files: SourceTree): string[] {
  const outside = [...files].filter(([path, text]) => path.startsWith("src/") && text.includes("/replication/"));
  return outside.map(([path]) => path).filter((path) => !path.startsWith("src/replication/"));
}

/**
 * Of the room, but for sockets, certificates, heartbeats and the cloud's database, of which the simulation has its own, and
 * for what people are shown and order of many.
 */
function isProtocol(path: string): boolean {
  return path.startsWith("src/replication/") && !/\/(?:link|identity|failover|view|upgrades|postgres)\//.test(path);
}

/** Files of the replication that the entries reach. */
function protocolFrom(entries: readonly string[], files: SourceTree = tree): string[] {
  return [...reachedFrom(entries, files)].filter(isProtocol).sort();
}

/** Files of the replication that the product imports. */
function protocolOfProduct(files: SourceTree): string[] {
  const room = new Map([...files].filter(([path]) => path.startsWith("src/replication/")));
  for (const path of doorsOf(files)) room.set(path, files.get(path) ?? "");
  return protocolFrom(doorsOf(files), room);
}

describe("the simulation of replication", () => {
  it("runs every file of the room, and all of what the daemon runs", () => {
    const simulated = protocolFrom(["test/sim/main.ts"]);
    const room = [...tree.keys()].filter(isProtocol).sort();
    expect(room.length).toBeGreaterThan(20);
    expect(simulated).toEqual(room);
    expect(simulated).toEqual(expect.arrayContaining(protocolOfProduct(tree)));
  });

  it("would be missed: a file that only the daemon runs", () => {
    const files = fixtureTree({
      "src/main.ts": `import "./replication/a.ts"; import "./replication/b.ts";`,
      "src/replication/a.ts": "",
      "src/replication/b.ts": "",
      "test/sim/main.ts": `import "../../src/replication/a.ts";`,
    });
    expect(protocolFrom(["test/sim/main.ts"], files)).toEqual(["src/replication/a.ts"]);
    expect(protocolOfProduct(files)).toEqual(["src/replication/a.ts", "src/replication/b.ts"]);
  });
});
