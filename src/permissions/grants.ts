import { isUuid } from "../lib/ids.ts";
import type { Method } from "../schema/resource.ts";

/**
 * One permission: a verb on a path pattern such as `/users/*`. @source docs/decisions/0003-authentication.md,
 * Permissions
 */
export interface Grant {
  verb: Method;
  spec: string;
}

/** Compiled grants. */
export interface GrantMatcher {
  /**
   * Permission check: true when a grant covers `method` on the concrete `path`. A get grant on an item also covers its
   * list, which then shows the visible rows; a post grant may name the collection with or without `/*`.
   */
  allows(method: Method, path: string): boolean;
  /** Segments of every get grant, in lower case. */
  readonly readablePaths: readonly (readonly string[])[];
}

interface TrieNode {
  ends: boolean;
  named: Map<string, TrieNode>;
  any: TrieNode | null;
}

/** Segments of a path or pattern, in lower case because ids are compared without case; `/` has none. */
export function splitPath(path: string): string[] {
  return path
    .toLowerCase()
    .split("/")
    .filter((segment) => segment !== "");
}

/** Compiles grants to a trie; their order does not matter. */
export function compileGrants(grants: readonly Grant[]): GrantMatcher {
  const roots = new Map<Method, TrieNode>();
  for (const { verb, spec } of grants) {
    const segments = splitPath(spec);
    if (verb === "post" && segments.at(-1) === "*") segments.pop();
    const root = roots.get(verb) ?? emptyNode();
    roots.set(verb, root);
    insert(root, segments);
  }
  return {
    allows(method, path) {
      const root = roots.get(method);
      return root !== undefined && matches(root, splitPath(path), 0, method === "get");
    },
    readablePaths: grants.filter((grant) => grant.verb === "get").map((grant) => splitPath(grant.spec)),
  };
}

function emptyNode(): TrieNode {
  return { ends: false, named: new Map(), any: null };
}

function insert(root: TrieNode, segments: readonly string[]): void {
  let node = root;
  for (const segment of segments) {
    if (segment === "*") {
      node.any ??= emptyNode();
      node = node.any;
    } else {
      const next = node.named.get(segment) ?? emptyNode();
      node.named.set(segment, next);
      node = next;
    }
  }
  node.ends = true;
}

function matches(node: TrieNode, path: readonly string[], at: number, includeLists: boolean): boolean {
  const segment = path[at];
  if (segment === undefined) return node.ends || (includeLists && grantsItems(node));
  const named = node.named.get(segment);
  if (named && matches(named, path, at + 1, includeLists)) return true;
  return node.any !== null && matches(node.any, path, at + 1, includeLists);
}

/** True when a grant names a direct item: `*` or an id, not the name of a sub-collection. */
function grantsItems(node: TrieNode): boolean {
  if (node.any?.ends) return true;
  for (const [segment, child] of node.named) if (child.ends && isUuid(segment)) return true;
  return false;
}

/** True for a valid permission spec: `/` and segments of lower-case letters, digits and `-`, `*`, or ids. */
export function isPathPattern(spec: string): boolean {
  return /^(\/(\*|[a-z0-9]+(-[a-z0-9]+)*))+$/i.test(spec) && !spec.startsWith("/*");
}
