import { describe, expect, it } from "vitest";
import { fixtureTree, readSourceTree } from "./source-tree.ts";
import { dialect, duplicateExports, logCalls, unresolvedSources } from "./wording.ts";

const product = readSourceTree(["src", "plugins"], (path) => /\.(tsx?|md|json)$/.test(path));
const server = new Map(
  [...product].filter(([path]) => path.startsWith("src/") && !path.startsWith("src/console/web/")),
);
const docs = readSourceTree(
  ["docs", "config", "README.md"].filter((path) => path !== "README.md"),
  (path) => /\.(md|yaml)$/.test(path),
);

/** The same words for both ends of one protocol, which must not import each other. */
const BOTH_ENDS = ["encodeMuLaw", "escapeXml", "parseXml"];

describe("words", () => {
  it("use standard terms", () => {
    expect(dialect(new Map([...product, ...docs]))).toEqual([]);
  });

  it.each([
    "// own choice: a week",
    "the row is made anew",
    "nobody is there",
    "who sees to it",
    "what is told to it is told",
    `"It is no list."`,
  ])("are reported: %s", (text) => {
    expect(dialect(fixtureTree({ "src/lib/a.ts": text })).length).toBeGreaterThan(0);
  });
});

describe("@source tags", () => {
  it("cite something that readers have", () => {
    expect(unresolvedSources(product)).toEqual([]);
  });

  it("are reported where they cite a missing file, or nothing", () => {
    const text = "/** A. @source RFC 3261 */\n/** B. @source docs/gone.md */\n/** C. @source */\n";
    expect(unresolvedSources(fixtureTree({ "src/lib/a.ts": text }))).toEqual([
      "src/lib/a.ts:2: docs/gone.md does not exist",
      "src/lib/a.ts:3: @source cites nothing",
    ]);
  });
});

describe("exported names", () => {
  it("have one meaning in the whole server", () => {
    const found = [...duplicateExports(server)].filter(([name]) => !BOTH_ENDS.includes(name));
    expect(found.map(([name, paths]) => `${name}: ${paths.join(", ")}`)).toEqual([]);
  });

  it("are reported when two files export the same", () => {
    const tree = fixtureTree({
      "src/lib/a.ts": "export interface Turn {}\nexport const x = 1;",
      "src/store/b.ts": "export type Turn = 1;",
      "src/store/c.ts": "interface Turn {}",
    });
    expect([...duplicateExports(tree)]).toEqual([["Turn", ["src/lib/a.ts", "src/store/b.ts"]]]);
  });
});

describe("log lines", () => {
  const calls = logCalls(product);

  it("carry a stable event code", () => {
    expect(calls.length).toBeGreaterThan(100);
    const bare = calls.filter(({ event }) => event === null || !/^[a-z0-9_]+(\.[a-z0-9_]+)+$/.test(event));
    expect(bare.map(({ path, line, message }) => `${path}:${line}: ${message}`)).toEqual([]);
  });

  it("are reported without an event code", () => {
    const text = `log.warn({ err }, "failed");\nneeds.log.info({ event: "a.b", x }, "done");\nconsole.log({ a: 1 });`;
    expect(logCalls(fixtureTree({ "src/lib/a.ts": text })).map(({ event, level }) => [event, level])).toEqual([
      [null, "warn"],
      ["a.b", "info"],
    ]);
  });
});
