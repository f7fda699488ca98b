import { validationError } from "../lib/errors.ts";
import { isUuid } from "../lib/ids.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { AnyResource, RowBase } from "../schema/resource.ts";
import type { RowVisibility, StoreReader } from "../store/store.ts";

/** Id of the only row of `family` with the name or id `name`. Throws CallerError for `field`. */
export type FindByName = (family: string, name: string, field: string) => string;

/**
 * Looks up rows by unique texts first (mail address, device identifier), then by name. Caches results, so it must not outlive
 * one transaction.
 */
export function createNameLookup(reader: StoreReader, catalogue: Catalogue, visibility: RowVisibility): FindByName {
  const known = new Map<string, string>();
  return (family, name, field) => {
    if (isUuid(name)) return name.toLowerCase();
    const key = `${family} ${name}`;
    const id = known.get(key) ?? findByName(reader, catalogue, visibility, { family, name, field });
    known.set(key, id);
    return id;
  };
}

interface NameQuery {
  family: string;
  name: string;
  field: string;
}

function findByName(
  reader: StoreReader,
  catalogue: Catalogue,
  visibility: RowVisibility,
  { family, name, field }: NameQuery,
): string {
  const lookupError = (detail: string) =>
    validationError([{ field, type: "invalid-value", message: `Field ${field} is not valid. ${detail}` }]);
  if (!catalogue.has(family)) throw lookupError(sentence("upload.references-to-this-resource-type-are-not-supported"));
  const resource = catalogue.byName(family);
  for (const column of namesOf(resource)) {
    const found = reader
      .find(resource, { [column]: name } as Partial<RowBase>, 100)
      .filter(({ id }) => reader.get(resource, id, visibility) !== null);
    if (found.length > 1)
      throw lookupError(
        sentence("upload.the-name-name-is-ambiguous-count-family-use-the-id", {
          name: shortened(name),
          count: found.length,
          family,
        }),
      );
    if (found[0]) return found[0].id;
  }
  throw lookupError(
    sentence("upload.no-row-of-family-with-the-name-name-was-found", { family, name: shortened(name) }),
  );
}

function namesOf({ fields }: AnyResource): string[] {
  const unique = Object.entries(fields).filter(([, field]) => field.kind === "text" && field.unique);
  const names = unique.map(([name]) => name);
  return fields.name && !names.includes("name") ? [...names, "name"] : names;
}

function shortened(name: string): string {
  return name.length > 60 ? `${name.slice(0, 60)}…` : name;
}
