import { BugError } from "../base/errors.ts";

/** Paths with placeholders, and what is served there by method. */
export interface Routes<T> {
  /** Adds what `method` does at `at` (`v1/users/{userId}`); what was there before is replaced. */
  add(method: string, at: string, value: T): void;
  /** What is served at a path without leading slash, by method, and the ids in place of its placeholders; null when nothing is. */
  find(path: string): { methods: ReadonlyMap<string, T>; values: string[] } | null;
}

interface Node<T> {
  named: Map<string, Node<T>>;
  any: Node<T> | null;
  methods: Map<string, T> | null;
}

/** More segments lead nowhere. */
const DEEPEST = 16;

/**
 * Makes an empty table of paths. A tree of segments, since some hundred patterns tried one by one would cost more than
 * the rest of a request. @source performance.md, row 1
 */
export function createRoutes<T>(): Routes<T> {
  const root: Node<T> = emptyNode();
  return {
    add(method, at, value) {
      let node = root;
      for (const segment of at.split("/")) node = stepInto(node, segment);
      node.methods ??= new Map();
      node.methods.set(method, value);
    },
    find(path) {
      const segments = path.split("/");
      if (segments.at(-1) === "") segments.pop();
      if (segments.length > DEEPEST) return null;
      const values: string[] = [];
      const methods = search(root, segments, 0, values);
      return methods && { methods, values };
    },
  };
}

function emptyNode<T>(): Node<T> {
  return { named: new Map(), any: null, methods: null };
}

function stepInto<T>(node: Node<T>, segment: string): Node<T> {
  if (segment === "") throw new BugError("A path has an empty segment.");
  if (segment.startsWith("{")) {
    node.any ??= emptyNode();
    return node.any;
  }
  const next = node.named.get(segment) ?? emptyNode<T>();
  node.named.set(segment, next);
  return next;
}

/** A name wins over a placeholder, unless it leads nowhere. */
function search<T>(node: Node<T>, segments: readonly string[], at: number, values: string[]): Map<string, T> | null {
  const segment = segments[at];
  if (segment === undefined) return node.methods;
  const named = node.named.get(segment);
  const found = named ? search(named, segments, at + 1, values) : null;
  if (found || !node.any || segment === "") return found;
  values.push(segment);
  const below = search(node.any, segments, at + 1, values);
  if (!below) values.pop();
  return below;
}
