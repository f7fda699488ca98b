import { writeFile } from "node:fs/promises";
import { type Command, Option } from "commander";
import type { OpenApiDocument } from "../http/openapi/document.ts";
import type { Terminal } from "../lib/terminal.ts";

/** The writer of each format. */
const FORMATS = {
  openapi: async () => (document: OpenApiDocument) => JSON.stringify(document, null, 1),
  python: async () => (await import("../tools/clients/python-client.ts")).writePythonClient,
  powershell: async () => (await import("../tools/clients/powershell-client.ts")).writePowerShellClient,
  postman: async () => (await import("../tools/clients/postman-collection.ts")).writePostmanCollection,
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
      const { describeServedApi } = await import("../http/served-actions.ts");
      const { createCatalogue } = await import("../schema/catalogue.ts");
      const { BUILT_IN_DECLARATIONS, loadDeclarations } = await import("../wiring/load-declarations.ts");
      const catalogue = createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS]));
      const write = await FORMATS[format]();
      const text = write(describeServedApi(catalogue));
      if (out === undefined) return terminal.out(text);
      await writeFile(out, `${text}\n`);
      terminal.err(`Wrote the ${format === "openapi" ? "API description" : format} file to ${out}.`);
    });
}
