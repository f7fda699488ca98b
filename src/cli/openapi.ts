import { writeFile } from "node:fs/promises";
import type { Command } from "commander";
import { describeServedApi } from "../http/served-actions.ts";
import type { Terminal } from "../lib/terminal.ts";
import { createCatalogue } from "../schema/catalogue.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../wiring/load-declarations.ts";

/** `carillon openapi`: prints the OpenAPI document, generated from the declarations that the server uses. */
export function addOpenapi(program: Command, terminal: Terminal): void {
  program
    .command("openapi")
    .description("Print the OpenAPI 3.1 description of the API.")
    .option("--out <file>", "write to a file instead of stdout")
    .addHelpText(
      "after",
      "\nExample:\n  carillon openapi --out carillon-api.json\n\nA running appliance serves it at <url>/api/v1/openapi.json, and as web pages at <url>/api/v1/docs.",
    )
    .action(async ({ out }: { out?: string }) => {
      const catalogue = createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS]));
      const text = JSON.stringify(describeServedApi(catalogue), null, 1);
      if (out === undefined) return terminal.out(text);
      await writeFile(out, `${text}\n`);
      terminal.err(`Wrote the API description to ${out}.`);
    });
}
