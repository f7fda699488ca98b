import { validationError } from "../lib/errors.ts";
import { isUuid } from "../lib/ids.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { AnyResource, RowBase } from "../schema/resource.ts";
import type { RowVisibility, StoreReader } from "../store/store.ts";

/** Id of the one row of `family` that is called `name`, or has it as its id. Throws CallerError for `field`. */
export type FindByName = (family: string, name: string, field: string) => string;

/**
 * Finds rows by what people call them: unique texts first (mail address, device identifier), then the name. Remembers what
 * it found, so it is good for one transaction.
 */
export function createNameLookup(reader: StoreReader, catalogue: Catalogue, sight: RowVisibility): FindByName {
  const known = new Map<string, string>();
  return (family, name, field) => {
    if (isUuid(name)) return name.toLowerCase();
    const key = `${family} ${name}`;
    const id = known.get(key) ?? findByName(reader, catalogue, sight, { family, name, field });
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
  sight: RowVisibility,
  { family, name, field }: NameQuery,
): string {
  const lookupError = (words: string) =>
    validationError([{ field, type: "invalid-value", message: `Field ${field} is not valid. ${words}` }]);
  if (!catalogue.has(family)) throw lookupError("Nothing of this kind can be referred to yet.");
  const resource = catalogue.byName(family);
  for (const column of namesOf(resource)) {
    const found = reader
      .find(resource, { [column]: name } as Partial<RowBase>, 100)
      .filter(({ id }) => reader.get(resource, id, sight) !== null);
    if (found.length > 1) throw lookupError(`${found.length} ${family} are called ${shortened(name)}; give the id.`);
    if (found[0]) return found[0].id;
  }
  throw lookupError(`There is none that is called ${shortened(name)}.`);
}

function namesOf({ fields }: AnyResource): string[] {
  const unique = Object.entries(fields).filter(([, field]) => field.kind === "text" && field.unique);
  const names = unique.map(([name]) => name);
  return fields.name && !names.includes("name") ? [...names, "name"] : names;
}

function shortened(name: string): string {
  return name.length > 60 ? `${name.slice(0, 60)}…` : name;
}
