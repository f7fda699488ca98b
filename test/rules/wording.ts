import { existsSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import type { RuleViolation } from "./module-boundaries.ts";
import { ROOT, type SourceTree, typescriptOf } from "./source-tree.ts";

/** Expressions of the former private dialect, each with what to write instead. */
const DIALECT: readonly { pattern: RegExp; instead: string }[] = [
  { pattern: /\bown choice\b/i, instead: "state the rule; the reason goes to docs/decisions" },
  { pattern: /(?<!-)\banew\b/i, instead: "again" },
  { pattern: /\bsees? to it\b/i, instead: "acknowledge" },
  { pattern: /\b(?:is|are|was|were) told\b/i, instead: "is notified, is reported, receives" },
  { pattern: /(?<![-\w])nobody\b(?!-)/i, instead: "no one, no user, no appliance" },
  { pattern: /\bwhoever\b/i, instead: "name the actor" },
  { pattern: /\bof its own\b/i, instead: "its own …, separate" },
  { pattern: /\bis not good any more\b/i, instead: "is no longer valid" },
  { pattern: /\bstands? (?:by itself|there|alone|once)\b/i, instead: "is, appears" },
  { pattern: /\bit is no [a-z]+\./i, instead: "Must be …" },
  { pattern: /\bWhat (?:is|was|has|are|goes|comes) [a-z]+(?:ed|t|n)?\b(?=[^?]*\.$)/, instead: "name the thing" },
];

/** Lines of dialect, as `path:line: "found": instead`. */
export function dialect(tree: SourceTree, rules = DIALECT): RuleViolation[] {
  return [...tree].flatMap(([path, text]) =>
    text.split("\n").flatMap((line, index) =>
      rules.flatMap(({ pattern, instead }) => {
        const found = pattern.exec(line)?.[0];
        return found === undefined ? [] : [`${path}:${index + 1}: "${found}": ${instead}`];
      }),
    ),
  );
}

/** `@source` tags that cite a file which the repository does not have, or nothing. */
export function unresolvedSources(
  tree: SourceTree,
  exists = (path: string) => existsSync(join(ROOT, path)),
): RuleViolation[] {
  return typescriptOf(tree).flatMap(([path, text]) =>
    // A citation may begin on the next line of its comment.
    [...text.matchAll(/@source\b[ \t]*(?:\n[ \t]*\*(?!\/)[ \t]*)?([^\n]*)/g)].flatMap(({ 1: rest = "", index }) => {
      const line = text.slice(0, index).split("\n").length;
      const cited = rest.replace(/\*\/.*$/, "").trim();
      if (cited === "") return [`${path}:${line}: @source cites nothing`];
      const files = [...cited.matchAll(/[\w./-]+\.(?:md|ts|txt|json|yaml)\b/g)].map(([file]) => file);
      return files
        .filter((file) => !exists(file) && !exists(`src/${file}`) && !exists(join(path, "..", file)))
        .map((file) => `${path}:${line}: ${file} does not exist`);
    }),
  );
}

/** Names that more than one file exports, with the files; a name has one meaning. */
export function duplicateExports(tree: SourceTree): ReadonlyMap<string, readonly string[]> {
  const files = new Map<string, string[]>();
  for (const [path, text] of typescriptOf(tree)) {
    for (const name of new Set(exportedNames(path, text))) files.set(name, [...(files.get(name) ?? []), path]);
  }
  return new Map([...files].filter(([, paths]) => paths.length > 1).sort(([one], [other]) => (one < other ? -1 : 1)));
}

function exportedNames(path: string, text: string): string[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, false);
  return source.statements.flatMap((statement) => {
    if (!ts.canHaveModifiers(statement)) return [];
    if (!ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) return [];
    if (ts.isVariableStatement(statement))
      return statement.declarationList.declarations.flatMap(({ name }) => (ts.isIdentifier(name) ? [name.text] : []));
    const { name } = statement as ts.DeclarationStatement;
    return name && ts.isIdentifier(name) ? [name.text] : [];
  });
}

/** One call of a log, `log.warn({ event: "…" }, "message")`. */
export interface LogCall {
  path: string;
  line: number;
  level: string;
  /** Its stable code; null where it has none. */
  event: string | null;
  message: string;
}

/** All calls of a log in a tree. */
export function logCalls(tree: SourceTree): LogCall[] {
  return typescriptOf(tree).flatMap(([path, text]) => {
    if (!/\blog\b/i.test(text)) return [];
    const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
    const found: LogCall[] = [];
    const visit = (node: ts.Node): void => {
      const call = ts.isCallExpression(node) ? logCall(path, source, node) : null;
      if (call) found.push(call);
      ts.forEachChild(node, visit);
    };
    visit(source);
    return found;
  });
}

const LEVELS = ["trace", "debug", "info", "warn", "error", "fatal"];

function logCall(path: string, source: ts.SourceFile, node: ts.CallExpression): LogCall | null {
  const { expression: callee } = node;
  if (!ts.isPropertyAccessExpression(callee) || !LEVELS.includes(callee.name.text)) return null;
  if (!/(^|[.#])log$/i.test(callee.expression.getText(source))) return null;
  const [fields, message] = node.arguments;
  if (!fields || !ts.isObjectLiteralExpression(fields)) return null;
  const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
  return {
    path,
    line: line + 1,
    level: callee.name.text,
    event: eventOf(fields),
    message: message && ts.isStringLiteralLike(message) ? message.text : "",
  };
}

function eventOf(fields: ts.ObjectLiteralExpression): string | null {
  for (const property of fields.properties) {
    if (!ts.isPropertyAssignment(property) || property.name.getText() !== "event") continue;
    const { initializer } = property;
    if (ts.isStringLiteralLike(initializer)) return initializer.text;
  }
  return null;
}
