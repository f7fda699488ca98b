import { readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { REPOSITORY_ROOT } from "../../support/carillon-process.ts";

/** A bug that the harness must detect: texts of the built product and their replacements. */
type PlantedBug = readonly { text: string; replacement: string }[];

/** Planted bugs by name. */
const PLANTED_BUGS: Readonly<Record<string, PlantedBug>> = {
  "admission-off": [
    {
      text: "admit: (listener) => (raw, response) => {",
      replacement: "admit: (listener) => (raw, response) => { return listener(raw, response);",
    },
  ],
  "lane-off": [
    { text: "isUrgent: identity.isKnown && isUrgent(raw)", replacement: "isUrgent: false" },
    { text: "isHeld: deps.isEmergencyUnderWay", replacement: "isHeld: () => false" },
  ],
};

/** Environment of a daemon with the bug, by a module in `folder` that changes the source while it is loaded. */
export async function plantBug(name: string, folder: string): Promise<NodeJS.ProcessEnv> {
  const bug = PLANTED_BUGS[name];
  if (!bug) throw new Error(`There is no planted bug ${name}; there are ${Object.keys(PLANTED_BUGS).join(", ")}.`);
  const chunks = join(REPOSITORY_ROOT, "dist/chunks");
  const built = readdirSync(chunks)
    .filter((file) => file.endsWith(".js"))
    .map((file) => readFileSync(join(chunks, file), "utf8"));
  const missing = bug.find(({ text }) => !built.some((source) => source.includes(text)));
  if (missing) throw new Error(`The built product does not contain this text of ${name}: ${missing.text}`);
  const hook = join(folder, "planted-bug.mjs");
  const source = `import { registerHooks } from "node:module";
const bug = ${JSON.stringify(bug)};
registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    if (!loaded.source) return loaded;
    const given = String(loaded.source);
    const source = bug.reduce((changed, { text, replacement }) => changed.replace(text, () => replacement), given);
    return source === given ? loaded : { ...loaded, source };
  },
});
`;
  await writeFile(hook, source);
  return { NODE_OPTIONS: `--import=${pathToFileURL(hook).href}` };
}
