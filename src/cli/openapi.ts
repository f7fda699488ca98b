import { writeFile } from "node:fs/promises";
import { type Command, Option } from "commander";
import type { OpenApiDocument } from "../http/openapi/document.ts";
import { describeServedApi } from "../http/served-actions.ts";
import type { Terminal } from "../lib/terminal.ts";
import { createCatalogue } from "../schema/catalogue.ts";
import { writePostmanCollection } from "../tools/clients/postman-collection.ts";
import { writePowerShellClient } from "../tools/clients/powershell-client.ts";
import { writePythonClient } from "../tools/clients/python-client.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../wiring/load-declarations.ts";

const FORMATS = {
  openapi: (document: OpenApiDocument) => JSON.stringify(document, null, 1),
  python: writePythonClient,
  powershell: writePowerShellClient,
  postman: writePostmanCollection,
} as const;
type Format = keyof typeof FORMATS;

/** `carillon openapi`: prints the OpenAPI document, generated from the declarations that the server uses. */
export function addOpenapi(program: Command, terminal: Terminal): void {
  program
    .command("openapi")
    .description("Print the OpenAPI 3.1 description of the API, or a client or request collection made of it.")
    .addOption(
      new Option(
        "--format <format>",
        "openapi, python or powershell (client module), postman (collection, also for Bruno)",
      )
        .choices(Object.keys(FORMATS))
        .default("openapi"),
    )
    .option("--out <file>", "write to a file instead of stdout")
    .addHelpText(
      "after",
      "\nExample:\n  carillon openapi --out carillon-api.json\n  carillon openapi --format python --out carillon_client.py\n" +
        "  carillon openapi --format powershell --out Carillon.psm1\n  carillon openapi --format postman --out carillon.postman.json\n\nA running appliance serves it at <url>/api/v1/openapi.json, and as web pages at <url>/api/v1/docs.",
    )
    .action(async ({ out, format }: { out?: string; format: Format }) => {
      const catalogue = createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS]));
      const text = FORMATS[format](describeServedApi(catalogue));
      if (out === undefined) return terminal.out(text);
      await writeFile(out, `${text}\n`);
      terminal.err(`Wrote the ${format === "openapi" ? "API description" : format} file to ${out}.`);
    });
}
