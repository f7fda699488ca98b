import type { PermissionRow } from "../../api/identity-rows.ts";
import type { Translator } from "../../i18n/translator.ts";

/** A permission: a verb on a path pattern. */
export type Permission = Pick<PermissionRow, "verb" | "spec">;

/** Paths and methods of the resources, as the daemon describes them. */
export type PermissionTargets = Readonly<Record<string, { path: string; methods: readonly string[] }>>;

/** The verbs, in the order in which people ask for them. */
export const VERBS = ["get", "post", "put", "delete"] as const;

/** Permissions with an effect beyond their path; their texts have the family `action`. */
export const ACTIONS = [
  "post /notifications",
  "post /drill-notifications",
  "post /live-pages",
  "post /notifications/*/activities",
  "post /extensions/*/restart",
  "get /extensions/*/log",
] as const;

const ID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/i;

/** A permission as a sentence: "See people". An unknown one is shown as it is. */
export function permissionText({ verb, spec }: Permission, things: PermissionTargets, translator: Translator): string {
  const segments = spec.split("/").filter(Boolean);
  const id = segments.find((segment) => ID.test(segment));
  const general = `/${segments.map((segment) => (ID.test(segment) ? "*" : segment)).join("/")}`;
  const known = generalSentence({ verb, spec: general }, things, translator);
  if (!known) return translator.t("permission.raw", { verb, spec });
  return id ? translator.t("permission.only", { sentence: known, id: id.slice(0, 8) }) : known;
}

function generalSentence(grant: Permission, things: PermissionTargets, { t, name }: Translator): string | null {
  const act = name("action", permissionKey(grant));
  if (act !== permissionKey(grant)) return act;
  for (const [resource, { path }] of Object.entries(things)) {
    const collection = permissionShape(path);
    const thing = resourceLabel(resource, name);
    if (grant.verb === "post" && grant.spec === `${collection}/*/clone`) return t("permission.clone", { thing });
    if (
      VERBS.some((verb) => verb === grant.verb) &&
      permissionKey(grant) === permissionKey(permissionFor(grant.verb, path))
    )
      return name("permission-sentence", grant.verb, { thing });
  }
  return null;
}

/** The permission for a verb on all rows of a collection (`/users/{userId}/devices`). */
export function permissionFor(verb: string, path: string): Permission {
  return { verb, spec: verb === "post" ? permissionShape(path) : `${permissionShape(path)}/*` };
}

/** `post /users` for whatever spelling; a post names the collection, with or without `/*`. */
export function permissionKey({ verb, spec }: Permission): string {
  return `${verb} ${verb === "post" ? spec.replace(/\/\*$/, "") : spec}`;
}

/** What people call the rows of a resource. */
export function resourceLabel(resource: string, name: Translator["name"]): string {
  const word = name("resource", resource);
  return word === resource ? resource.replace(/-/g, " ") : word;
}

/** A path with `*` for its placeholders. */
export function permissionShape(path: string): string {
  return path.replace(/\{\w+\}/g, "*");
}
