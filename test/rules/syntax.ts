import ts from "typescript";

/** One import: static, type-only, re-export, dynamic with a literal, or an `import("…")` type. */
export interface Import {
  specifier: string;
  line: number;
}

/** A place in a file and what stands there. */
export interface SyntaxFinding {
  line: number;
  what: string;
}

/** Every module that the file names, in order. */
export function importsOf(path: string, text: string): Import[] {
  const source = parse(path, text);
  const found: Import[] = [];
  visit(source, (node) => {
    const specifier = specifierOf(node);
    if (specifier) found.push({ specifier: specifier.text, line: lineOf(source, node) });
  });
  return found;
}

function specifierOf(node: ts.Node): ts.StringLiteralLike | null {
  let expression: ts.Node | undefined;
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) expression = node.moduleSpecifier;
  else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) expression = node.argument.literal;
  else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
    expression = node.arguments[0];
  }
  return expression && ts.isStringLiteralLike(expression) ? expression : null;
}

/** Exported declarations without a doc comment in words. Re-exports of other files are documented there. */
export function undocumentedExports(path: string, text: string): SyntaxFinding[] {
  const source = parse(path, text);
  const listed = namesExportedByList(source);
  const documented = new Set<string>();
  const found: SyntaxFinding[] = [];
  for (const statement of source.statements) {
    const names = declaredNames(statement);
    if (!isExported(statement) && !names.some((name) => listed.has(name))) continue;
    if (hasDoc(statement)) for (const name of names) documented.add(name);
    // One doc comment serves all overloads of a function.
    else if (names.some((name) => !documented.has(name))) {
      found.push({ line: lineOf(source, statement), what: names.join(", ") });
    }
  }
  return found;
}

function namesExportedByList(source: ts.SourceFile): Set<string> {
  const names = new Set<string>();
  for (const statement of source.statements) {
    if (ts.isExportAssignment(statement) && ts.isIdentifier(statement.expression)) names.add(statement.expression.text);
    if (!ts.isExportDeclaration(statement) || statement.moduleSpecifier || !statement.exportClause) continue;
    if (!ts.isNamedExports(statement.exportClause)) continue;
    for (const element of statement.exportClause.elements) names.add((element.propertyName ?? element.name).text);
  }
  return names;
}

function declaredNames(statement: ts.Statement): string[] {
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.map((declaration) => declaration.name.getText());
  }
  if (
    ts.isFunctionDeclaration(statement) ||
    ts.isClassDeclaration(statement) ||
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement)
  ) {
    return [statement.name?.text ?? "default"];
  }
  return ts.isExportAssignment(statement) && !ts.isIdentifier(statement.expression) ? ["default"] : [];
}

function isExported(statement: ts.Statement): boolean {
  if (ts.isExportAssignment(statement)) return !ts.isIdentifier(statement.expression);
  if (!ts.canHaveModifiers(statement)) return false;
  return ts.getModifiers(statement)?.some((modifier) => modifier.kind === ts.SyntaxKind.ExportKeyword) ?? false;
}

function hasDoc(statement: ts.Statement): boolean {
  return ts
    .getJSDocCommentsAndTags(statement)
    .some((doc) => ts.isJSDoc(doc) && /\w{2}/.test(ts.getTextOfJSDocComment(doc.comment) ?? ""));
}

/** Uses of the machine's time and chance: calls, and references that hand one on. */
export function machineTimeUses(path: string, text: string): SyntaxFinding[] {
  const source = parse(path, text);
  const found: SyntaxFinding[] = [];
  visit(source, (node) => {
    const what = machineTimeUse(node);
    if (what) found.push({ line: lineOf(source, node), what });
  });
  return found;
}

/** Waits of a test that a machine under load may miss: limits below `leastMs`, and looks at a page that do not wait at all. */
export function shortWaits(path: string, text: string, leastMs: number): SyntaxFinding[] {
  const source = parse(path, text);
  const found: SyntaxFinding[] = [];
  visit(source, (node) => {
    const what = ts.isCallExpression(node) ? shortWait(node, leastMs) : null;
    if (what) found.push({ line: lineOf(source, node), what });
  });
  return found;
}

function shortWait({ expression, arguments: given }: ts.CallExpression, leastMs: number): string | null {
  if (expression.getText() === "expect") return given[0]?.getText() === "page.url()" ? "page.url() once" : null;
  if (!ts.isPropertyAccessExpression(expression)) return null;
  const { text: name } = expression.name;
  const isShort = (limit: ts.Node | undefined): boolean =>
    limit !== undefined && ts.isNumericLiteral(limit) && Number(limit.text) < leastMs;
  if (/^vi\.wait(For|Until)$/.test(expression.getText()) && given.length < 2) return `${name} for a second`;
  if (/^setDefault(Navigation)?Timeout$/.test(name)) return isShort(given[0]) ? name : null;
  if (!/^(poll|wait(For|Until).*)$/.test(name) || name === "waitForTimeout") return null;
  const limits = given.flatMap((each) => (ts.isObjectLiteralExpression(each) ? [...each.properties] : []));
  const isLimit = (each: ts.Node) => ts.isPropertyAssignment(each) && each.name.getText() === "timeout";
  return limits.some((each) => isLimit(each) && isShort((each as ts.PropertyAssignment).initializer)) ? name : null;
}

const TIME_FUNCTIONS = new Set(["setTimeout", "setInterval", "setImmediate"]);
const TIME_MEMBERS = new Set(["Date.now", "Math.random", "performance.now", "process.hrtime"]);
const TIME_MODULES = /^node:(timers(\/promises)?|perf_hooks)$/;

function machineTimeUse(node: ts.Node): string | null {
  if (ts.isPropertyAccessExpression(node)) {
    const member = node
      .getText()
      .replace(/\s+/g, "")
      .replace(/^globalThis\./, "");
    return TIME_MEMBERS.has(member) || TIME_FUNCTIONS.has(member) ? member : null;
  }
  if (ts.isNewExpression(node)) {
    const bare = node.expression.getText() === "Date" && (node.arguments?.length ?? 0) === 0;
    return bare ? "new Date()" : null;
  }
  const specifier = specifierOf(node);
  if (specifier) return TIME_MODULES.test(specifier.text) ? specifier.text : null;
  return ts.isIdentifier(node) && TIME_FUNCTIONS.has(node.text) && isValue(node) ? node.text : null;
}

/** False for an identifier that only names a member, such as `x.setTimeout` or `{ setTimeout: … }`. */
function isValue(node: ts.Identifier): boolean {
  const parent = node.parent;
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node;
  return !("name" in parent && parent.name === node) || ts.isShorthandPropertyAssignment(parent);
}

/** Plain errors made or thrown: `new Error`, `Error(…)`, and JavaScript's own kinds. */
export function plainErrors(path: string, text: string): SyntaxFinding[] {
  const source = parse(path, text);
  const found: SyntaxFinding[] = [];
  visit(source, (node) => {
    if (!ts.isNewExpression(node) && !ts.isCallExpression(node)) return;
    const name = node.expression.getText();
    if (/^(Error|TypeError|RangeError|SyntaxError|AggregateError)$/.test(name)) {
      found.push({ line: lineOf(source, node), what: name });
    }
  });
  return found;
}

/** Attributes of JSX that people read or hear. */
const TEXT_ATTRIBUTES = new Set(["alt", "aria-label", "description", "label", "placeholder", "title"]);

/** Words that stand in JSX itself: texts between tags, and literals of attributes that people read or hear. */
export function textInMarkup(path: string, text: string): SyntaxFinding[] {
  const source = parse(path, text);
  const found: SyntaxFinding[] = [];
  visit(source, (node) => {
    const words = markupText(node);
    if (words && /\p{L}{2}/u.test(words)) found.push({ line: lineOf(source, node), what: words.trim() });
  });
  return found;
}

function markupText(node: ts.Node): string | null {
  if (ts.isJsxText(node)) return node.text;
  if (ts.isStringLiteralLike(node) && ts.isJsxExpression(node.parent)) {
    return ts.isJsxAttribute(node.parent.parent) ? textAttribute(node.parent.parent, node.text) : node.text;
  }
  if (!ts.isJsxAttribute(node) || !node.initializer || !ts.isStringLiteral(node.initializer)) return null;
  return textAttribute(node, node.initializer.text);
}

function textAttribute({ name }: ts.JsxAttribute, text: string): string | null {
  return TEXT_ATTRIBUTES.has(name.getText()) ? text : null;
}

const EMPTY_CONTAINER = /^(\[\]|new (Map|Set|WeakMap|WeakSet|Array)(<.*>)?\(\))$/s;

/** State of a module: top-level `let` and `var`, and top-level containers that begin empty. */
export function moduleState(path: string, text: string): SyntaxFinding[] {
  const source = parse(path, text);
  const found: SyntaxFinding[] = [];
  for (const statement of source.statements) {
    if (!ts.isVariableStatement(statement)) continue;
    const constant = (statement.declarationList.flags & ts.NodeFlags.Const) !== 0;
    for (const declaration of statement.declarationList.declarations) {
      if (constant && !EMPTY_CONTAINER.test(declaration.initializer?.getText() ?? "")) continue;
      found.push({ line: lineOf(source, declaration), what: declaration.name.getText() });
    }
  }
  return found;
}

const parsed = new Map<string, ts.SourceFile>();

/** Each text is parsed once, however many rules look at it. */
function kindOf(path: string): ts.ScriptKind {
  return path.endsWith(".tsx") ? ts.ScriptKind.TSX : ts.ScriptKind.TS;
}

function parse(path: string, text: string): ts.SourceFile {
  const known = parsed.get(path);
  if (known?.text === text) return known;
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true, kindOf(path));
  parsed.set(path, source);
  return source;
}

function visit(node: ts.Node, see: (node: ts.Node) => void): void {
  see(node);
  ts.forEachChild(node, (child) => visit(child, see));
}

function lineOf(source: ts.SourceFile, node: ts.Node): number {
  return source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
}

/** A literal, with the calls and members that it stands in, the innermost first; a value of a template is a number. */
export interface LiteralFinding extends SyntaxFinding {
  within: string[];
}

/** More levels say nothing about a text. */
const MAX_WITHIN = 4;

/** Texts and templates of a file. */
export function literalsOf(path: string, text: string): LiteralFinding[] {
  const source = parse(path, text);
  const found: LiteralFinding[] = [];
  visit(source, (node) => {
    const what = literalText(node);
    if (what === null) return;
    const within: string[] = [];
    let parent = node.parent;
    for (let level = 0; level < MAX_WITHIN && parent; level++, parent = parent.parent) {
      if (ts.isCallExpression(parent) || ts.isNewExpression(parent)) {
        within.push(parent.expression.getText(source).replace(/\s+/g, ""));
      } else if (ts.isPropertyAssignment(parent)) within.push(`${parent.name.getText(source)}:`);
    }
    found.push({ line: lineOf(source, node), what, within });
  });
  return found;
}

function literalText(node: ts.Node): string | null {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return null;
  return node.head.text + node.templateSpans.map(({ literal }, at) => `${at + 2}${literal.text}`).join("");
}
