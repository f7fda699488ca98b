import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { logEventTable, moduleDiagram, withSection } from "./generated-docs.ts";
import { distributedPackages, licenceTable } from "./licences.ts";
import { moduleImports } from "./module-boundaries.ts";
import { LAYERS } from "./modules.ts";
import { ROOT, readSourceTree } from "./source-tree.ts";
import { logCalls } from "./wording.ts";

const product = readSourceTree(["src", "plugins"], (path) => /\.tsx?$/.test(path));
const web = readSourceTree(["src/console/web"], (path) => /\.tsx?$/.test(path));
const readLock = () => JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8"));

/** What is generated into docs/, by file and section. `npm run docs` writes it. */
const SECTIONS: readonly [file: string, section: string, content: () => string][] = [
  ["docs/architecture.md", "modules", () => moduleDiagram(LAYERS, moduleImports(product))],
  ["docs/log-events.md", "events", () => logEventTable(logCalls(product))],
  ["docs/licences.md", "packages", () => licenceTable(distributedPackages(readLock(), web))],
];

it.each(SECTIONS)("%s shows the %s of the code", (file, section, content) => {
  const path = join(ROOT, file);
  const text = readFileSync(path, "utf8");
  const current = withSection(text, section, content());
  if (process.env.CARILLON_WRITE_DOCS) writeFileSync(path, current);
  else expect(text, "run `npm run docs`").toBe(current);
});
