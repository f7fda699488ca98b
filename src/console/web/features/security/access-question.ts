import {
  ACTIONS,
  type Permission,
  type PermissionTargets,
  permissionFor,
  permissionShape,
  VERBS,
} from "./permission-text.ts";

/** A permission check: action, resource and optionally one row. */
export interface AccessQuestion {
  verb: string;
  /** Path of the request that it would be: `/users/0190…`. */
  path: string;
  /** The permission that would allow it on all such rows. */
  grant: Permission;
  /** The collection from which one row must be, or may be, chosen; null for none. */
  family: string | null;
  /** Without a row the question can't be asked. */
  needsRow: boolean;
}

/** Resources to choose from: top-level ones only. */
export function resourcesToCheck(things: PermissionTargets): string[] {
  return Object.entries(things)
    .filter(([, { path }]) => !path.includes("{"))
    .map(([name]) => name);
}

/** The deeds that can be asked of a subject: those its API has; an act is its own deed. */
export function verbsOf(subject: string, things: PermissionTargets): readonly string[] {
  if (isAct(subject)) return [];
  return VERBS.filter((verb) => things[subject]?.methods.includes(verb));
}

/** The question for a subject (`users`, or an act such as `post /notifications`), null while it is not complete. */
export function accessQuestionOf(
  { subject, verb, row }: { subject: string; verb: string; row: string | null },
  things: PermissionTargets,
): AccessQuestion | null {
  if (isAct(subject)) {
    const [actVerb = "", spec = ""] = subject.split(" ");
    const needsRow = spec.includes("*");
    const family = needsRow ? (spec.split("/")[1] ?? null) : null;
    return { verb: actVerb, path: spec.replace("*", row ?? ""), grant: { verb: actVerb, spec }, family, needsRow };
  }
  const thing = things[subject];
  if (!thing?.methods.includes(verb)) return null;
  const collection = permissionShape(thing.path);
  const isOne = verb === "put" || verb === "delete";
  const path = row && verb !== "post" ? `${collection}/${row}` : collection;
  return {
    ...{ verb, path, grant: permissionFor(verb, thing.path), needsRow: isOne },
    family: verb === "post" ? null : collection.slice(1),
  };
}

function isAct(subject: string): boolean {
  return ACTIONS.some((act) => act === subject);
}
