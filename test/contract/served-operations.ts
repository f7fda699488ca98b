import { routeShape } from "../../src/http/router.ts";
import { describeServedApi } from "../../src/http/served-actions.ts";
import { createCatalogue } from "../../src/schema/catalogue.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../src/wiring/load-declarations.ts";

/** An operation of the served API. */
export interface ServedOperation {
  /** As the API's description writes it: `GET /v1/users/{userId}`. */
  operation: string;
  /** The same without the placeholders' names, as routes are told apart. */
  route: string;
  /** The family of declarations that it belongs to; `the appliance` for what no declaration has. */
  group: string;
}

const OUTSIDE = "the appliance";

/** Every operation of the API's description, in its order. */
export async function servedOperations(): Promise<ServedOperation[]> {
  const catalogue = createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS]));
  const groups = await groupsOfFamilies();
  const { paths } = describeServedApi(catalogue);
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => {
      const operation = `${method.toUpperCase()} ${path}`;
      const [, version = "", family = ""] = path.split("/");
      const group = version === "onprem" ? "on-premises spelling" : (groups.get(family) ?? OUTSIDE);
      return { operation, route: routeShape(operation), group };
    }),
  );
}

/** The folder of declarations of each first segment of a path; its own row decides before those below it. */
async function groupsOfFamilies(): Promise<Map<string, string>> {
  const groups = new Map<string, string>();
  const own = new Set<string>();
  for (const [file, module] of Object.entries(await BUILT_IN_DECLARATIONS())) {
    const [resource] = await loadDeclarations([async () => ({ [file]: module })]);
    for (const { at } of resource?.paths ?? []) {
      const family = at.split("/", 1)[0] as string;
      if (own.has(family)) continue;
      groups.set(family, file.split("/").at(-2) as string);
      if (at === family) own.add(family);
    }
  }
  return groups;
}
