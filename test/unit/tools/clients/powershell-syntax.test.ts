import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { beforeAll, describe, expect, it } from "vitest";
import { Language, type Node, Parser } from "web-tree-sitter";
import { describeServedApi } from "../../../../src/http/served-actions.ts";
import { createCatalogue } from "../../../../src/schema/catalogue.ts";
import { writePowerShellClient } from "../../../../src/tools/clients/powershell-client.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../../../src/wiring/load-declarations.ts";

/** Variables that PowerShell sets itself, and parameters that every function has. */
const RESERVED = new Set(
  [
    ..."args input host pid home error event eventargs eventsubscriber foreach switch matches myinvocation".split(" "),
    ..."nestedpromptlevel null profile psboundparameters pscmdlet psscriptroot psversiontable pwd sender".split(" "),
    ..."shellid stacktrace this true false verbose debug erroraction warningaction informationaction".split(" "),
    ..."progressaction errorvariable warningvariable informationvariable outvariable outbuffer".split(" "),
    ..."pipelinevariable query body".split(" "),
  ].map((name) => name.toLowerCase()),
);

let text: string;
let root: Node;
beforeAll(async () => {
  text = writePowerShellClient(describeServedApi(createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS]))));
  await Parser.init();
  const grammar = createRequire(import.meta.url).resolve("tree-sitter-powershell/tree-sitter-powershell.wasm");
  const parser = new Parser();
  parser.setLanguage(await Language.load(await readFile(grammar)));
  root = (parser.parse(text) as { rootNode: Node }).rootNode;
});

/** The lines of what the parser did not understand. */
function faults(node: Node): string[] {
  if (!node.hasError) return [];
  if (node.isError || node.isMissing) return [`${node.startPosition.row + 1}: ${node.text.slice(0, 80)}`];
  return node.children.flatMap((child) => (child ? faults(child) : []));
}

/** PowerShell cannot be had where the tests run; a parser of the language reads the module instead. */
describe("the PowerShell module", () => {
  it("has no syntax error", () => {
    expect(faults(root)).toEqual([]);
    expect(root.hasError).toBe(false);
  });

  it("has a function for every name that it defines", () => {
    const functions = root.descendantsOfType("function_statement").filter((each): each is Node => each !== null);
    const written = [...text.matchAll(/^function /gm)].length;
    expect([functions.length, written > 900]).toEqual([written, true]);
  });

  it("uses declared parameters only, whose names are free", () => {
    for (const [whole, name = "", parameters = "", rest = ""] of text.matchAll(
      /^function (Invoke-Carillon(?!Request)\w+) \{\n.*\n {4}param\((.*)\)\n(.*)\n\}/gm,
    )) {
      const declared = [...parameters.matchAll(/\$(\w+)/g)].map(([, each = ""]) => each.toLowerCase());
      const ids = declared.filter((each) => each !== "query" && each !== "body");
      expect([name, new Set(declared).size]).toEqual([name, declared.length]);
      expect([name, ids.filter((each) => RESERVED.has(each))]).toEqual([name, []]);
      const used = [...rest.matchAll(/\$(\w+)/g)].map(([, each = ""]) => each.toLowerCase());
      expect([whole.length > 0, used.filter((each) => !declared.includes(each))]).toEqual([true, []]);
      expect(new Set(used)).toEqual(new Set(declared));
    }
  });
});
