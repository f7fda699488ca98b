import type { Method } from "../../schema/resource.ts";

/** Type name of a resource, in the singular: `areas-of-interest` → `AreaOfInterest`. */
export function typeName(resourceName: string): string {
  const words = resourceName.split("-");
  const counted = words.includes("of") ? words.indexOf("of") - 1 : words.length - 1;
  return words.map((word, at) => capital(at === counted ? singular(word) : word)).join("");
}

/** Unique operation id: `getUsersDevices`, `listUsers`. */
export function operationName(method: Method, at: string, isList: boolean): string {
  const segments = at.split("/");
  const names = segments.filter((segment) => !segment.startsWith("{"));
  const last = segments.at(-1)?.startsWith("{") ? "ById" : "";
  const verb = method === "get" ? (isList ? "list" : "get") : VERBS[method];
  return verb + names.map((name) => name.split(/[-.]/).map(capital).join("")).join("") + last;
}

const VERBS = { post: "create", put: "update", delete: "delete" } as const;

function singular(word: string): string {
  if (word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  if (/(us|ss)$/.test(word)) return word;
  return word.replace(/((?<=ch|sh|x)e)?s$/, "");
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
