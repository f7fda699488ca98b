import { type Catalogue, canonicalPath } from "../../schema/catalogue.ts";
import type { Action } from "../action.ts";

/**
 * `POST …/{id}/clone` of each resource that declares it.
 * @source docs/decisions/0001-lists-and-paging.md; docs/decisions/0042-api-contract.md
 */
export function cloneActions(catalogue: Catalogue): Action[] {
  return catalogue.all
    .filter((resource) => resource.clone)
    .map((resource) => ({
      method: "post",
      at: `${canonicalPath(resource).at}/{${resource.idParam}}/clone`,
      doc: "Creates a copy.",
      response: { kind: "row", resource },
      supportsDryRun: true,
      async handle(request) {
        const { deps, params, by } = request;
        return request.respondWithRow(resource, await deps.store.clone(resource, params[resource.idParam] ?? "", by));
      },
    }));
}
