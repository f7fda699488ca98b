import { writeFile } from "node:fs/promises";
import type { Command } from "commander";
import { describeServedApi } from "../http/served-actions.ts";
import { createCatalogue } from "../schema/catalogue.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../wiring/load-declarations.ts";
import type { Terminal } from "./terminal.ts";

/** `carillon openapi`: the API's description, made from the same declarations that serve it. */
export function addOpenapi(program: Command, terminal: Terminal): void {
  program
    .command("openapi")
    .description("Print the description of the API, an OpenAPI 3.1 document.")
    .option("--out <file>", "write it to a file instead")
    .addHelpText(
      "after",
      "\nExample:\n  carillon openapi --out carillon-api.json\n\nA running appliance serves it at <url>/api/v1/openapi.json, and in pages at <url>/api/v1/docs.",
    )
    .action(async ({ out }: { out?: string }) => {
      const catalogue = createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS]));
      const text = JSON.stringify(describeServedApi(catalogue), null, 1);
      if (out === undefined) return terminal.out(text);
      await writeFile(out, `${text}\n`);
      terminal.err(`The description of the API is in ${out}.`);
    });
}
