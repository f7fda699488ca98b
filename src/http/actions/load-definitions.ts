import loadDefinitions from "../../resources/loads/load-definitions.ts";
import loadRuns from "../../resources/loads/load-runs.ts";
import { type Action, requireVisibleRow } from "../action.ts";
import { parseFileNameHeader } from "./file-name-header.ts";

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
      response: { kind: "row", resource: loadDefinitions },
      binaryTypes: SOURCE_TYPES,
      async handle(request) {
        const { id } = requireVisibleRow(request, loadDefinitions, request.params.loadDefinitionId ?? "");
        const fileName = parseFileNameHeader(request.header("x-file-name")) ?? "";
        const given = { fileName, by: request.by };
        return request.respondWithRow(
          loadDefinitions,
          await request.needs.loaders.acceptFile(id, request.readBytes(), given),
        );
      },
    }),
  ),
  {
    method: "post",
    at: "load-definitions/{loadDefinitionId}/runs",
    doc: "Begins to load from a source: `dryRun` tries only, `confirmed` may remove more users than the threshold says.",
    response: { kind: "row", resource: loadRuns },
    accepts: loadRuns.fields,
    async handle(request) {
      const { id } = requireVisibleRow(request, loadDefinitions, request.params.loadDefinitionId ?? "");
      return request.respondWithRow(loadRuns, await request.needs.loaders.startRun(id, request.body, request.by));
    },
  },
];
