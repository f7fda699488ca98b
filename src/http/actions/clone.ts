import { type Catalogue, canonicalPath } from "../../schema/catalogue.ts";
import type { Action } from "../action.ts";

/** `POST …/{id}/clone` of each resource that declares it. @source service-api.md, Clone paths; decisions.md 1 */
export function cloneActions(catalogue: Catalogue): Action[] {
  return catalogue.all
    .filter((resource) => resource.clone)
    .map((resource) => ({
      method: "post",
      at: `${canonicalPath(resource).at}/{${resource.idParam}}/clone`,
      doc: "Makes a copy.",
      response: { kind: "row", resource },
      supportsDryRun: true,
      async handle(request) {
        const { needs, params, by } = request;
        return request.respondWithRow(resource, await needs.store.clone(resource, params[resource.idParam] ?? "", by));
      },
    }));
}
