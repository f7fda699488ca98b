import { describe, expect, it } from "vitest";
import {
  forbiddenTexts,
  longFiles,
  machineTime,
  missingDocs,
  missingReadmeFiles,
  moduleLevelState,
  nameViolations,
  plainErrorViolations,
  readmeViolations,
  registryHosts,
  shortTestTimeouts,
} from "./source-style.ts";
import { fixtureTree, readSourceTree } from "./source-tree.ts";

const code = readSourceTree(["src", "plugins", "test", ".ci"], (path) => /\.(tsx?|mjs|md)$/.test(path));
const product = new Map([...code].filter(([path]) => /^(src|plugins)\//.test(path)));
/** Everything a reader of the tree may open; the rules themselves must name what they forbid. */
const texts = readSourceTree(
  ["."],
  (path) => !/^test\/rules\/|^package-lock\.json$|^LICENSE$|\.(wav|png|db)$/.test(path),
);

describe("names", () => {
  it("are kebab-case and name the content", () => {
    expect(nameViolations(code)).toEqual([]);
  });

  it.each(["src/lib/utils.ts", "src/http/helpers/a.ts", "plugins/x/types.ts", "src/lib/fooBar.ts", "src/lib/a_b.ts"])(
    "is reported: %s",
    (path) => {
      expect(nameViolations(fixtureTree({ [path]: "" }))).toHaveLength(1);
    },
  );

  it("may contain the words as parts", () => {
    expect(nameViolations(fixtureTree({ "src/call-manager/media-types.ts": "", "test/unit/a.test.ts": "" }))).toEqual(
      [],
    );
  });
});

describe("doc comments", () => {
  it("describe every export of the plugin API", () => {
    expect(missingDocs(product)).toEqual([]);
  });

  it.each([
    "export function f(): void {}",
    "export async function f(): Promise<void> {}",
    "export const c = 1;",
    "export class C {}",
    "export interface I {}",
    "export type T = string;",
    "export default {};",
    "export default function () {}",
    "const c = 1;\nexport { c };",
    "const c = 1;\nexport { c as d };",
    "const c = 1;\nexport default c;",
    "/** */\nexport const c = 1;",
    "/** @source RFC 9562 */\nexport const c = 1;",
    "// A remark.\nexport const c = 1;",
  ])("is reported: %s", (text) => {
    expect(missingDocs(fixtureTree({ "src/plugin-api/a.ts": text }))).toHaveLength(1);
  });

  it.each([
    "/** What it is. */\nexport const c = 1;",
    "/** What it is. */\nconst c = 1;\nexport { c };",
    "/** What it does. */\nexport function f(a: 1): void;\nexport function f(a: 2): void;\nexport function f(): void {}",
    `export { x } from "./b.ts";\nexport * from "./c.ts";`,
    "function inner(): void {}",
  ])("are enough: %s", (text) => {
    expect(missingDocs(fixtureTree({ "src/plugin-api/a.ts": text }))).toEqual([]);
  });
});

describe("time and chance", () => {
  it("come from a clock", () => {
    expect(machineTime(product)).toEqual([]);
  });

  it.each([
    "const t = Date.now();",
    "const t = new Date();",
    "const t = performance.now();",
    "const t = process.hrtime.bigint();",
    "setTimeout(f, 1);",
    "globalThis.setTimeout(f, 1);",
    "const timer = setInterval;",
    "setImmediate(f);",
    "const r = Math.random();",
    `import { setTimeout } from "node:timers/promises";`,
  ])("is reported: %s", (text) => {
    for (const path of ["src/store/a.ts", "plugins/x/index.ts"]) {
      expect(machineTime(fixtureTree({ [path]: text })).length).toBeGreaterThan(0);
    }
  });

  it("come from the machine only in the clock, the simulator and worker entries; a Date may be built from a number", () => {
    const text = "const t = Date.now();";
    const tree = { "src/lib/clock.ts": text, "src/tools/simulator/a.ts": text, "src/media/streamer-worker.ts": text };
    expect(machineTime(fixtureTree(tree))).toEqual([]);
    expect(machineTime(fixtureTree({ "src/a/a.ts": "new Date(clock.now()); x.setTimeout(1); // Date.now()" }))).toEqual(
      [],
    );
  });
});

describe("tests", () => {
  it("wait as long as a machine under load may take", () => {
    expect(shortTestTimeouts(code)).toEqual([]);
  });

  it.each([
    "await vi.waitFor(() => expect(told).toBe(1));",
    "const asked = () => vi.waitUntil(() => told);",
    "await expect.poll(count, { timeout: 5_000 }).toBe(1);",
    "await expect\n.poll(count, { interval: 5, timeout: 20_000 })\n.toBe(1);",
    'await page.waitForSelector("h1", { timeout: 1_000 });',
    "await row.waitFor({ timeout: 1_000 });",
    "page.setDefaultTimeout(15_000);",
    'expect(page.url()).toContain("x");',
  ])("is reported: %s", (text) => {
    expect(shortTestTimeouts(fixtureTree({ "test/unit/a/a.test.ts": text }))).toHaveLength(1);
  });

  it.each([
    "await expect.poll(count).toBe(1);",
    "await vi.waitFor(look, PATIENCE);",
    "await page.waitForSelector('h1', { timeout: 90_000 });",
    "await page.waitForURL(/x/);",
    "const bell = { timeout: 45 };",
  ])("may: %s", (text) => {
    expect(shortTestTimeouts(fixtureTree({ "test/console/a.test.ts": text }))).toEqual([]);
  });
});

describe("errors", () => {
  it("are of the kinds in lib/errors.ts", () => {
    expect(plainErrorViolations(product)).toEqual([]);
  });

  it.each([`throw new Error("x");`, `reject(new Error("x"));`, `throw Error("x");`, `throw new TypeError("x");`])(
    "is reported: %s",
    (text) => {
      expect(plainErrorViolations(fixtureTree({ "src/store/a.ts": text }))).toHaveLength(1);
    },
  );

  it("may be compared and extended", () => {
    const text = `if (e instanceof Error) throw new BugError("x"); class A extends Error {}`;
    expect(plainErrorViolations(fixtureTree({ "src/lib/a.ts": text }))).toEqual([]);
  });
});

describe("modules", () => {
  it("keep no state", () => {
    expect(moduleLevelState(product)).toEqual([]);
  });

  it.each([
    "let count = 0;",
    "export let x = 1;",
    "const seen = new Map<string, number>();",
    "const all: string[] = [];",
  ])("is reported: %s", (text) => {
    expect(moduleLevelState(fixtureTree({ "src/store/a.ts": text }))).toHaveLength(1);
  });

  it("may contain tables, and state in wiring/ and worker entries", () => {
    const tree = { "src/wiring/a.ts": "let x = 1;", "src/media/b-worker.ts": "let x = 1;" };
    expect(moduleLevelState(fixtureTree(tree))).toEqual([]);
    const table = `const NAMES = new Set(["a"]); const ROWS = [1]; function f() { let x = 1; return x; }`;
    expect(moduleLevelState(fixtureTree({ "src/store/a.ts": table }))).toEqual([]);
  });
});

describe("READMEs", () => {
  it("exist in every module and plugin", () => {
    expect(readmeViolations(product)).toEqual([]);
  });

  it("are reported where they are missing", () => {
    const tree = fixtureTree({
      "src/lib/a.ts": "",
      "plugins/x/index.ts": "",
      "src/store/a.ts": "",
      "src/store/README.md": "line\n".repeat(300),
    });
    expect(readmeViolations(tree)).toEqual(["src/lib: has no README.md", "plugins/x: has no README.md"]);
  });
});

describe("sources that READMEs name", () => {
  it("exist", () => {
    expect(missingReadmeFiles(texts)).toEqual([]);
  });

  it("are reported where they are missing", () => {
    const text = "`a.ts` and `web/gone.tsx` with `service-api.md`";
    expect(missingReadmeFiles(fixtureTree({ "src/lib/a.ts": "", "src/lib/README.md": text }))).toEqual([
      "src/lib/README.md: web/gone.tsx does not exist",
    ]);
  });
});

describe("texts", () => {
  it("mention no workplace, machine or unfinished work", () => {
    expect(forbiddenTexts(texts)).toEqual([]);
  });

  it.each([
    "see /work/main/src",
    "run in /root/app",
    "cd /home/kim/carillon",
    "as issue 2 asks",
    "fixes issue #14",
    "written by Claude",
    "asked a sub-agent",
    "// TODO later",
    `throw "not implemented";`,
  ])("is reported: %s", (text) => {
    expect(forbiddenTexts(fixtureTree({ "src/lib/a.ts": text }))).toHaveLength(1);
  });

  it.each(["GET /api/work/orders", "https://example.org/root/x", "issues a token", "the home page /home/", "SEPXXXX"])(
    "may say: %s",
    (text) => {
      expect(forbiddenTexts(fixtureTree({ "src/lib/a.ts": text }))).toEqual([]);
    },
  );
});

describe("the lock file", () => {
  const lock = readSourceTree(["."], (path) => /^(package-lock\.json|package\.json|\.npmrc)$/.test(path));

  it("names no registry", () => {
    expect(lock.size).toBe(3);
    expect(registryHosts(lock)).toEqual([]);
  });

  it.each([`"resolved": "https://registry.npmjs.org/x/-/x-1.tgz",`, "registry=https://npm.example.org/"])(
    "is reported: %s",
    (text) => {
      expect(registryHosts(fixtureTree({ "package-lock.json": text }))).toHaveLength(1);
    },
  );
});

describe("sizes", () => {
  it("are listed for long files", () => {
    expect(longFiles(fixtureTree({ "src/lib/a.ts": "x\n".repeat(401), "src/lib/b.ts": "x\n".repeat(400) }))).toEqual([
      "src/lib/a.ts: 401 lines",
    ]);
    const long = longFiles(code);
    if (long.length > 0) console.warn(`Files that may hold two ideas:\n  ${long.join("\n  ")}`);
  });
});
