import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  cryptoAlgorithms,
  dangerousCalls,
  REQUIREMENTS,
  readRequirements,
  requirementFaults,
} from "./security-requirements.ts";
import { fixtureTree, ROOT, readSourceTree } from "./source-tree.ts";

const TABLE = readFileSync(join(ROOT, "docs/security/asvs.md"), "utf8");
const product = readSourceTree(["src", "plugins"], (path) => /\.tsx?$/.test(path));
const exists = (path: string): boolean => existsSync(join(ROOT, path));

/** The table with one row changed. */
function withRow(id: string, change: (row: string) => string): string {
  return TABLE.split("\n")
    .map((line) => (line.startsWith(`| ${id} |`) ? change(line) : line))
    .join("\n");
}

describe("the table of security requirements", () => {
  it("has every requirement once, each with a verdict and a proof or reason that exists", () => {
    expect(requirementFaults(TABLE, exists)).toEqual([]);
  });

  it("has 276 requirements", () => {
    const all = Object.values(REQUIREMENTS).reduce((sum, { levels1And2, level3 }) => sum + levels1And2 + level3, 0);
    expect([all, readRequirements(TABLE).rows.length]).toEqual([276, 276]);
    expect(TABLE).toContain("| All | ");
  });

  it.each([
    ["a missing row", withRow("6.2.1", () => ""), ["V6: 34 and 12", "V6: the summary"]],
    ["a row twice", withRow("6.2.1", (row) => `${row}\n${row}`), ["6.2.1: twice", "V6: 36 and 12", "V6: the summary"]],
    ["another chapter", withRow("8.4.1", (row) => row.replace("8.4.1", "9.4.1")), ["9.4.1: no id of chapter 8"]],
    ["another level", withRow("8.4.1", (row) => row.replace("| 2 |", "| 3 |")), ["V8: 6 and 1"]],
    ["a malformed id", withRow("8.4.1", (row) => row.replace("8.4.1", "8.4")), ["8.4: no id of chapter 8"]],
    [
      "an empty cell",
      withRow("8.4.1", (row) => row.replace(/\| `.*` \|/, "| |")),
      ["8.4.1: proof is empty", "8.4.1: no proof"],
    ],
    [
      "a missing file",
      withRow("8.4.1", (row) => row.replace(".test.ts", ".gone.ts")),
      ["8.4.1: test/e2e/multi-tenancy.gone.ts"],
    ],
    ["no proof", withRow("8.4.1", (row) => row.replace(/`test.*`/, "It holds")), ["8.4.1: no proof"]],
    [
      "no reason",
      withRow("8.4.1", (row) => row.replace("| holds |", "| open |")),
      ["8.4.1: no reason", "V8: the summary"],
    ],
    [
      "another verdict",
      withRow("8.4.1", (row) => row.replace("| holds |", "| fine |")),
      ["8.4.1: no verdict", "8.4.1: no reason", "V8: the summary"],
    ],
  ])("is refused with %s", (_what, table, expected) => {
    const faults = requirementFaults(table, exists);
    expect(faults).toHaveLength(expected.length);
    for (const [at, text] of expected.entries()) expect(faults[at]).toContain(text);
  });
});

describe("the product", () => {
  it("runs no text as a program or markup, and lets people paste passwords", () => {
    expect(dangerousCalls(product)).toEqual([]);
  });

  it.each([
    "eval(text)",
    "new Function(text)",
    "exec(command)",
    'spawn("ping", [host], { shell: true })',
    "element.innerHTML = text",
    "<div dangerouslySetInnerHTML={{ __html: text }} />",
    "<input onPaste={refuse} />",
  ])("would be refused with %s", (line) => {
    expect(dangerousCalls(fixtureTree({ "src/lib/a.ts": line }))).toHaveLength(1);
  });

  it("may match patterns", () => {
    expect(dangerousCalls(fixtureTree({ "src/lib/a.ts": "const match = PATTERN.exec(text);" }))).toEqual([]);
  });
});

describe("the inventory of algorithms", () => {
  const inventory = readFileSync(join(ROOT, "docs/security/data-and-keys.md"), "utf8");

  it("names every algorithm that the product asks for", () => {
    const used = cryptoAlgorithms(product);
    expect(used).toContain("aes-256-gcm");
    expect([...used].filter((name) => !inventory.includes(`\`${name}\``))).toEqual([]);
  });

  it("would miss another one", () => {
    const planted = fixtureTree({ "src/lib/a.ts": 'createCipheriv("aes-128-ecb", key, null); hash("md4", text)' });
    expect([...cryptoAlgorithms(planted)]).toEqual(["aes-128-ecb", "md4"]);
  });
});
