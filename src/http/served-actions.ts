import type { Catalogue } from "../schema/catalogue.ts";
import type { Action } from "./action.ts";
import { actionsFor } from "./actions/index.ts";
import { describeApi, type OpenApiDocument } from "./openapi/document.ts";
import { openApiActions } from "./openapi/openapi-actions.ts";
import { rowOperations } from "./rows/row-operations.ts";

/**
 * All endpoints of the API: generic operations first, so that an action with the same method and path replaces them,
 * then the OpenAPI endpoints.
 */
export function servedActions(catalogue: Catalogue): readonly Action[] {
  const generic = catalogue.all.flatMap((resource) => resource.paths.flatMap((path) => rowOperations(resource, path)));
  const openApi = openApiActions(() => describeApi(catalogue, all));
  const all = [...generic, ...actionsFor(catalogue), ...openApi];
  return all;
}

/** The API of these declarations as an OpenAPI document. */
export function describeServedApi(catalogue: Catalogue): OpenApiDocument {
  const steps = describeApi(catalogue, servedActions(catalogue));
  let step = steps.next();
  while (!step.done) step = steps.next();
  return step.value;
}
