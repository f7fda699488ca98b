import { basename, dirname } from "node:path";
import type { RuleViolation } from "./module-boundaries.ts";
import { LONG_FILE_LINES, MEANINGLESS_NAMES, TIME_SOURCES, WORKER_ENTRY } from "./modules.ts";
import { type SourceTree, typescriptOf } from "./source-tree.ts";
import {
  machineTimeUses,
  moduleState,
  plainErrors,
  type SyntaxFinding,
  shortWaits,
  textInMarkup,
  undocumentedExports,
} from "./syntax.ts";

/** Files and folders have kebab-case names that say what lives there. */
export function nameViolations(tree: SourceTree): RuleViolation[] {
  const paths = [...tree.keys()].filter((path) => /\.(tsx?|mjs)$/.test(path));
  const folders = new Set(paths.map(dirname));
  const files = paths.map((path) => [path, basename(path).replace(/\.(tsx?|mjs)$/, "")] as const);
  return [...files, ...[...folders].map((path) => [path, basename(path)] as const)].flatMap(([path, name]) => {
    if (MEANINGLESS_NAMES.includes(name)) return [`${path}: "${name}" does not say what lives there`];
    return /^\.?[a-z0-9]+([-.][a-z0-9]+)*$/.test(name) ? [] : [`${path}: the name is not kebab-case`];
  });
}

/** Every exported declaration of the plugin API, which others write code against, has a doc comment. */
export function missingDocs(tree: SourceTree): RuleViolation[] {
  return findings(
    tree,
    /^src\/plugin-api\//,
    undocumentedExports,
    (what) => `${what} is exported without a doc comment`,
  );
}

/** Time and chance come from an injected clock, not from the machine. */
export function machineTime(tree: SourceTree): RuleViolation[] {
  const product = new Map([...tree].filter(([path]) => !TIME_SOURCES.some((source) => source.test(path))));
  return findings(product, /^(src|plugins)\//, machineTimeUses, (what) => `${what}: take a Clock instead`);
}

/** Limits of time only end what hangs; this is the least that a test may set. */
const MIN_TEST_TIMEOUT_MS = 30_000;
const TESTS = /^test\/(?!rules\/)/;

/** Tests wait for what is bound to happen as long as a machine under load may take. */
export function shortTestTimeouts(tree: SourceTree): RuleViolation[] {
  const find = (path: string, text: string): SyntaxFinding[] => shortWaits(path, text, MIN_TEST_TIMEOUT_MS);
  return findings(tree, TESTS, find, (what) => `${what}: wait with \`expect.poll\`, \`eventually\` or \`waitForURL\``);
}

/** Errors are of the kinds of lib/errors.ts. */
export function plainErrorViolations(tree: SourceTree): RuleViolation[] {
  return findings(tree, /^src\//, plainErrors, (what) => `${what}: use a kind of lib/errors.ts`);
}

/** Only wiring/ keeps state at module level; worker entries run once. */
export function moduleLevelState(tree: SourceTree): RuleViolation[] {
  const shared = new Map([...tree].filter(([path]) => !path.startsWith("src/wiring/") && !WORKER_ENTRY.test(path)));
  return findings(shared, /^src\//, moduleState, (what) => `${what} is state of the module`);
}

/** The console's words stand in its catalogue, so that each can be said in another language. */
export function untranslatedTexts(tree: SourceTree): RuleViolation[] {
  return findings(tree, /^src\/console\/web\/.*\.tsx$/, textInMarkup, (what) => `"${what}" belongs into the catalogue`);
}

/** Each module and each plugin has a README. */
export function readmeViolations(tree: SourceTree): RuleViolation[] {
  const folders = new Set(
    typescriptOf(tree).flatMap(([path]) => /^(src|plugins)\/[^/]+(?=\/)/.exec(path)?.slice(0, 1) ?? []),
  );
  return [...folders].flatMap((folder) => (tree.has(`${folder}/README.md`) ? [] : [`${folder}: has no README.md`]));
}

/** Sources that a README names are there. */
export function missingReadmeFiles(tree: SourceTree): RuleViolation[] {
  const paths = [...tree.keys()];
  return paths
    .filter((path) => path.endsWith("README.md"))
    .flatMap((path) =>
      [...(tree.get(path) ?? "").matchAll(/`([\w./-]+\.(?:tsx?|mjs))`/g)]
        .map(([, name = ""]) => name.replace(/^(\.\.\/)+/, ""))
        .filter((name) => !paths.some((each) => each === name || each.endsWith(`/${name}`)))
        .map((name) => `${path}: ${name} does not exist`),
    );
}

/** Patterns that have no place in a public tree, with the reason. */
const STRAY_TEXT: readonly { pattern: RegExp; why: string }[] = [
  { pattern: /(?<![\w.~-])\/(work|root|home\/\w+)\/\w/, why: "a path of one machine" },
  { pattern: /\bissues? (show\b|#?\d+\b)/i, why: "speaks of an issue" },
  { pattern: /\b(claude|anthropic|openai|chatgpt|copilot|language model|LLM)\b/i, why: "speaks of how it was written" },
  { pattern: /\b(sub-?agents?|coding agents?|AI assistants?|brief\.md)\b/i, why: "speaks of how it was written" },
  { pattern: /\b(TODO|FIXME|XXX)\b|\bnot (yet )?implemented\b/, why: "a mark of unfinished work" },
];

/** Nothing tells of the workplace, of one machine or of unfinished work. */
export function forbiddenTexts(tree: SourceTree): RuleViolation[] {
  return [...tree].flatMap(([path, text]) =>
    text
      .split("\n")
      .flatMap((line, index) =>
        STRAY_TEXT.filter(({ pattern }) => pattern.test(line)).map(({ why }) => `${path}:${index + 1}: ${why}`),
      ),
  );
}

/** The lock file and npm's settings name no registry: everyone installs from their own. */
export function registryHosts(tree: SourceTree): RuleViolation[] {
  return [...tree].flatMap(([path, text]) =>
    text
      .split("\n")
      .flatMap((line, index) =>
        /"resolved":\s*"(https?|git)|\bregistry\s*=|https?:\/\/[^/\s"]*registry/.test(line)
          ? [`${path}:${index + 1}: names a registry host`]
          : [],
      ),
  );
}

/** Files that may hold two ideas, longest first; a list to look at, not a fault. */
export function longFiles(tree: SourceTree): string[] {
  return typescriptOf(tree)
    .map(([path, text]) => ({ path, lines: text.trimEnd().split("\n").length }))
    .filter(({ lines }) => lines > LONG_FILE_LINES)
    .sort((a, b) => b.lines - a.lines)
    .map(({ path, lines }) => `${path}: ${lines} lines`);
}

function findings(
  tree: SourceTree,
  wanted: RegExp,
  find: (path: string, text: string) => SyntaxFinding[],
  words: (what: string) => string,
): RuleViolation[] {
  return typescriptOf(tree)
    .filter(([path]) => wanted.test(path))
    .flatMap(([path, text]) => find(path, text).map(({ line, what }) => `${path}:${line}: ${words(what)}`));
}
