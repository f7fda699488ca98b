import { type Catalogue, canonicalPath } from "../../schema/catalogue.ts";
import { type Action, json, visibleRow } from "../action.ts";
import { compileDependents, DEPENDENTS_PAGE, DEPENDENTS_QUERY, dependentsIn } from "../dependents.ts";

/** What refers to a row, so that people know what a change or a deletion touches. @source digest, the paths that end in `-dependents` */
export function dependentActions(catalogue: Catalogue): readonly Action[] {
  return dependentsIn(catalogue).map((dependents) => {
    const { target, name } = dependents;
    const list = compileDependents(dependents, catalogue);
    return {
      method: "get",
      at: `${canonicalPath(target).at}/{${target.idParam}}/${name}`,
      doc: `Lists what refers to it as ${name.replace(/-dependents$/, "").replaceAll("-", " ")}.`,
      query: DEPENDENTS_QUERY,
      answers: { kind: "members", fields: DEPENDENTS_PAGE, sometimes: ["total"] },
      async handle(request) {
        const { id } = visibleRow(request, target, request.params[target.idParam] ?? "");
        return json(list(request, id));
      },
    };
  });
}
