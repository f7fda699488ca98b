import type { CompiledMessage } from "@lingui/message-utils/compileMessage";

/**
 * A placeholder; `isCount`: a number as `#` writes it; `fixed`: the number that a plural form stands for without naming it.
 */
interface Placeholder {
  name: string;
  isCount: boolean;
  fixed?: number;
}

/** One form of a message: its words and placeholders in their order. */
export type Template = (string | Placeholder)[];

type Token = string | readonly [name: string, type?: string, forms?: Readonly<Record<string, unknown>>];

/** Forms of a message: one, or one per plural form. */
export function templatesOf(message: string, compile: (message: string) => CompiledMessage): Template[] {
  return expand(compile(message) as readonly Token[] | string).map(merge);
}

function expand(tokens: readonly Token[] | string, counted: string | null = null): Template[] {
  let forms: Template[] = [[]];
  for (const token of typeof tokens === "string" ? [tokens] : tokens) {
    const next = expandToken(token, counted);
    forms = forms.flatMap((form) => next.map((each) => [...form, ...each]));
  }
  return forms;
}

function expandToken(token: Token, counted: string | null): Template[] {
  if (token === "#" && counted !== null) return [[{ name: counted, isCount: true }]];
  if (typeof token === "string") return [[token]];
  const [name, type, forms] = token;
  if (type !== "plural") return [[{ name, isCount: false }]];
  return Object.entries(forms ?? {}).flatMap(([category, form]) => {
    if (typeof form !== "string" && !Array.isArray(form)) return [];
    const isUnnamed = category === "one" && !form.includes("#");
    const expanded = expand(form as readonly Token[] | string, name);
    return isUnnamed ? expanded.map((each) => [{ name, isCount: true, fixed: 1 }, ...each]) : expanded;
  });
}

function merge(template: Template): Template {
  const merged: Template = [];
  for (const part of template.toSorted((one, other) => Number(isFixed(other)) - Number(isFixed(one)))) {
    const last = merged.at(-1);
    if (typeof part === "string" && typeof last === "string") merged[merged.length - 1] = last + part;
    else if (part !== "") merged.push(part);
  }
  return merged;
}

function isFixed(part: Template[number]): boolean {
  return typeof part !== "string" && part.fixed !== undefined;
}

/**
 * Values of the placeholders of a text, and the number of characters that are the template's; null where it is not of this
 * form. Each value ends at the next words of the template, so that this takes linear time.
 */
export function matchTemplate(
  template: Template,
  text: string,
): { params: Record<string, string | number>; words: number } | null {
  const params: Record<string, string | number> = {};
  let at = 0;
  let words = 0;
  for (const [index, part] of template.entries()) {
    if (typeof part === "string") {
      if (!text.startsWith(part, at)) return null;
      at += part.length;
      words += part.length;
      continue;
    }
    if (part.fixed !== undefined) {
      params[part.name] = part.fixed;
      continue;
    }
    const next = template[index + 1];
    if (next !== undefined && typeof next !== "string") return null;
    const isLast = index >= template.length - 2;
    const end = next === undefined ? text.length : isLast ? lastEnd(text, next) : text.indexOf(next, at);
    if (end < at || (end === at && part.isCount)) return null;
    const value = text.slice(at, end);
    if (!assign(params, part, value)) return null;
    at = end;
  }
  return at === text.length ? { params, words } : null;
}

function lastEnd(text: string, ending: string): number {
  return text.endsWith(ending) ? text.length - ending.length : -1;
}

/** A placeholder that occurs twice has one value. */
function assign(params: Record<string, string | number>, { name, isCount }: Placeholder, text: string): boolean {
  if (isCount && !/^\d{1,3}(,?\d{3})*$/.test(text)) return false;
  const value = isCount ? Number(text.replaceAll(",", "")) : text;
  if (name in params) return params[name] === value;
  params[name] = value;
  return true;
}
