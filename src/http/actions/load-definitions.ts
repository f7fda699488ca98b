import loadDefinitions from "../../resources/loads/load-definitions.ts";
import loadRuns from "../../resources/loads/load-runs.ts";
import { type Action, requireVisibleRow } from "../action.ts";
import { parseFileNameHeader } from "./file-name-header.ts";

const SOURCE_TYPES = [
  ...["text/tab-separated-values", "text/csv", "application/zip", "application/octet-stream"],
] as const;

/** File upload and imports of load definitions. */
export const loadDefinitionActions: readonly Action[] = [
  ...(["put", "post"] as const).map(
    (method): Action => ({
      method,
      at: "load-definitions/{loadDefinitionId}/file",
      doc: "Uploads the source file of a load definition without a path.",
      response: { kind: "row", resource: loadDefinitions },
      binaryTypes: SOURCE_TYPES,
      async handle(request) {
        const { id } = requireVisibleRow(request, loadDefinitions, request.params.loadDefinitionId ?? "");
        const fileName = parseFileNameHeader(request.header("x-file-name")) ?? "";
        const given = { fileName, by: request.by };
        return request.respondWithRow(
          loadDefinitions,
          await request.deps.loaders.acceptFile(id, request.readBytes(), given),
        );
      },
    }),
  ),
  {
    method: "post",
    at: "load-definitions/{loadDefinitionId}/runs",
    doc: "Starts an import from a source. `dryRun` changes nothing; `confirmed` allows exceeding the removal threshold.",
    response: { kind: "row", resource: loadRuns },
    accepts: loadRuns.fields,
    async handle(request) {
      const { id } = requireVisibleRow(request, loadDefinitions, request.params.loadDefinitionId ?? "");
      return request.respondWithRow(loadRuns, await request.deps.loaders.startRun(id, request.body, request.by));
    },
  },
];
