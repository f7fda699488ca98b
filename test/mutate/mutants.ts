import ts from "typescript";

/** One small change of a source file that a test should notice. */
export interface Mutant {
  file: string;
  line: number;
  /** What changes, `a < b -> a <= b`. */
  change: string;
  start: number;
  end: number;
  text: string;
}

const SWAPPED: ReadonlyMap<ts.SyntaxKind, readonly string[]> = new Map([
  [ts.SyntaxKind.LessThanToken, ["<=", ">="]],
  [ts.SyntaxKind.LessThanEqualsToken, ["<", ">"]],
  [ts.SyntaxKind.GreaterThanToken, [">=", "<="]],
  [ts.SyntaxKind.GreaterThanEqualsToken, [">", "<"]],
  [ts.SyntaxKind.EqualsEqualsEqualsToken, ["!=="]],
  [ts.SyntaxKind.ExclamationEqualsEqualsToken, ["==="]],
  [ts.SyntaxKind.AmpersandAmpersandToken, ["||"]],
  [ts.SyntaxKind.BarBarToken, ["&&"]],
  [ts.SyntaxKind.PlusToken, ["-"]],
  [ts.SyntaxKind.MinusToken, ["+"]],
  [ts.SyntaxKind.AsteriskToken, ["/"]],
]);

/** What has no effect on behaviour that a test should hold: log lines, error texts, diagnostics. */
const IGNORED_CALL =
  /(^|\.)(log\.\w+|debug|describe|explain)$|Error$|^(invalidValue|requiredValue|notFound|forbidden)$/;

/** All mutants of a file, in the order of its text. */
export function mutantsOf(file: string, text: string): Mutant[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found: Mutant[] = [];
  const add = (node: ts.Node, replacement: string, shown: ts.Node = node): void => {
    const start = node.getStart(source);
    const before = shown.getText(source).replaceAll(/\s+/g, " ").slice(0, 80);
    const line = source.getLineAndCharacterOfPosition(start).line + 1;
    const short = replacement.replaceAll(/\s+/g, " ").slice(0, 40);
    found.push({ file, line, change: `${before} -> ${short || "(removed)"}`, start, end: node.end, text: replacement });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isInterfaceDeclaration(node)) return;
    if (isIgnored(node, source)) return;
    if (ts.isBinaryExpression(node)) mutateOperator(node, add);
    if (ts.isIfStatement(node) || ts.isWhileStatement(node)) negate(node.expression, source, add);
    if (ts.isConditionalExpression(node)) negate(node.condition, source, add);
    if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken)
      add(node, `(${node.operand.getText(source)})`);
    if (ts.isNumericLiteral(node)) add(node, String(Number(node.text.replaceAll("_", "")) + 1), node.parent);
    if (node.kind === ts.SyntaxKind.TrueKeyword) add(node, "false", node.parent);
    if (node.kind === ts.SyntaxKind.FalseKeyword) add(node, "true", node.parent);
    if (ts.isArrayLiteralExpression(node) && node.elements.length > 1 && node.elements.every(ts.isStringLiteral))
      for (const element of node.elements) add(element, "undefined as never");
    if (ts.isPropertyAccessExpression(node) && node.expression.getText(source) === "Math") swapExtreme(node, add);
    if (ts.isExpressionStatement(node) && isEffect(node.expression)) add(node, ";");
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

type Add = (node: ts.Node, replacement: string, shown?: ts.Node) => void;

function mutateOperator(node: ts.BinaryExpression, add: Add): void {
  const { operatorToken: operator } = node;
  if (operator.kind === ts.SyntaxKind.PlusToken && [node.left, node.right].some(ts.isStringLiteralLike)) return;
  for (const other of SWAPPED.get(operator.kind) ?? []) add(operator, other, node);
}

/** A comparison alone is covered by its operator. */
function negate(condition: ts.Expression, source: ts.SourceFile, add: Add): void {
  if (ts.isBinaryExpression(condition) && SWAPPED.has(condition.operatorToken.kind)) return;
  if (ts.isPrefixUnaryExpression(condition)) return;
  add(condition, `!(${condition.getText(source)})`);
}

function swapExtreme(node: ts.PropertyAccessExpression, add: Add): void {
  const other = { max: "min", min: "max", floor: "ceil", ceil: "floor" }[node.name.text];
  if (other) add(node.name, other, node.parent);
}

function isEffect(expression: ts.Expression): boolean {
  return ts.isCallExpression(expression) || (ts.isBinaryExpression(expression) && isAssignment(expression));
}

function isAssignment({ operatorToken: { kind } }: ts.BinaryExpression): boolean {
  return kind >= ts.SyntaxKind.FirstAssignment && kind <= ts.SyntaxKind.LastAssignment;
}

function isIgnored(node: ts.Node, source: ts.SourceFile): boolean {
  if (ts.isExpressionStatement(node)) return isIgnored(node.expression, source);
  if (ts.isThrowStatement(node)) return true;
  if (!ts.isCallExpression(node) && !ts.isNewExpression(node)) return false;
  return IGNORED_CALL.test(node.expression.getText(source));
}

/** `text` with the mutant in it. */
export function mutated(text: string, { start, end, text: replacement }: Mutant): string {
  return `${text.slice(0, start)}${replacement}${text.slice(end)}`;
}

/** At most `size` of them, spread evenly over all. */
export function sampled<T>(all: readonly T[], size: number): T[] {
  if (all.length <= size) return [...all];
  return Array.from({ length: size }, (_, at) => all[Math.floor(((at + 0.5) * all.length) / size)] as T);
}
