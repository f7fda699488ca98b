import loadDefinitions from "../../resources/loads/load-definitions.ts";
import loadRuns from "../../resources/loads/load-runs.ts";
import { type Action, visibleRow } from "../action.ts";
import { fileNameIn } from "./file-name.ts";

const SOURCE_TYPES = [
  ...["text/tab-separated-values", "text/csv", "application/zip", "application/octet-stream"],
] as const;

/** What can be done with sources of users. own choice: the paths */
export const loadDefinitionActions: readonly Action[] = [
  ...(["put", "post"] as const).map(
    (method): Action => ({
      method,
      at: "load-definitions/{loadDefinitionId}/file",
      doc: "Takes the file that a definition without a path is loaded from.",
      answers: { kind: "row", resource: loadDefinitions },
      takesBytes: SOURCE_TYPES,
      async handle(request) {
        const { id } = visibleRow(request, loadDefinitions, request.params.loadDefinitionId ?? "");
        const fileName = fileNameIn(request.header("x-file-name")) ?? "";
        const given = { fileName, by: request.by };
        return request.show(loadDefinitions, await request.needs.loaders.take(id, request.bytes(), given));
      },
    }),
  ),
  {
    method: "post",
    at: "load-definitions/{loadDefinitionId}/runs",
    doc: "Begins to load from a source: `dryRun` tries only, `confirmed` may remove more users than the threshold says.",
    answers: { kind: "row", resource: loadRuns },
    accepts: loadRuns.fields,
    async handle(request) {
      const { id } = visibleRow(request, loadDefinitions, request.params.loadDefinitionId ?? "");
      return request.show(loadRuns, await request.needs.loaders.begin(id, request.body, request.by));
    },
  },
];
