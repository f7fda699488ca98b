import { type Catalogue, canonicalPath } from "../../schema/catalogue.ts";
import { type Action, jsonResponse, requireVisibleRow } from "../action.ts";
import { compileDependentsList, DEPENDENTS_QUERY, DEPENDENTS_RESPONSE, dependentsLists } from "../rows/dependents.ts";

/** What refers to a row, so that people know what a change or a deletion touches. @source digest, the paths that end in `-dependents` */
export function dependentActions(catalogue: Catalogue): readonly Action[] {
  return dependentsLists(catalogue).map((dependents) => {
    const { target, name } = dependents;
    const list = compileDependentsList(dependents, catalogue);
    return {
      method: "get",
      at: `${canonicalPath(target).at}/{${target.idParam}}/${name}`,
      doc: `Lists what refers to it as ${name.replace(/-dependents$/, "").replaceAll("-", " ")}.`,
      query: DEPENDENTS_QUERY,
      response: { kind: "members", fields: DEPENDENTS_RESPONSE, sometimes: ["total"] },
      async handle(request) {
        const { id } = requireVisibleRow(request, target, request.params[target.idParam] ?? "");
        return jsonResponse(list(request, id));
      },
    };
  });
}
