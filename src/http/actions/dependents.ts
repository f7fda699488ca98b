import { type Catalogue, canonicalPath } from "../../schema/catalogue.ts";
import { type Action, jsonResponse, requireVisibleRow } from "../action.ts";
import { compileDependentsList, DEPENDENTS_QUERY, DEPENDENTS_RESPONSE, dependentsLists } from "../rows/dependents.ts";

/**
 * Lists of rows that refer to a row, so that users see the effect of a change or deletion.
 * @source docs/decisions/0042-api-contract.md
 */
export function dependentActions(catalogue: Catalogue): readonly Action[] {
  return dependentsLists(catalogue).map((dependents) => {
    const { target, name } = dependents;
    const list = compileDependentsList(dependents, catalogue);
    return {
      method: "get",
      at: `${canonicalPath(target).at}/{${target.idParam}}/${name}`,
      doc: `Lists rows that refer to it as ${name.replace(/-dependents$/, "").replaceAll("-", " ")}.`,
      query: DEPENDENTS_QUERY,
      response: { kind: "members", fields: DEPENDENTS_RESPONSE, sometimes: ["total"] },
      async handle(request) {
        const { id } = requireVisibleRow(request, target, request.params[target.idParam] ?? "");
        return jsonResponse(list(request, id));
      },
    };
  });
}
