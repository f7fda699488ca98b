/**
 * `npm run contract`: holds the table of test/contract/routes.tsv against what the API serves: each operation has its row,
 * each row its operation, and each row's test was seen to fail without the operation.
 * `npm run contract -- --prove [WORDS]`: takes the route of each row away in turn (of those rows that hold the words; with
 * `--open` of those that are not proven) and runs the row's test, which should fail as it asks for the route, and pass with
 * it and get a good answer; the table and its sums in the README then say of which rows that is so.
 * `npm run contract -- --write [FILES]`: listens to the tests of the API (or to these), finds for each operation that has no
 * row a test that fails without its route, or at least one that asks for it, and writes the table and its sums. `--anew`
 * forgets all rows first.
 * The last line has the figures; exit code 1 when an operation has no test, or one that is not proven.
 */
import { readArguments } from "../support/harness-arguments.ts";
import { type ContractRow, provenCount, readRows, tableErrors, writeRows } from "./contract-table.ts";
import { candidatesOf, proveRoutes } from "./route-proofs.ts";
import { servedOperations } from "./served-operations.ts";
import { openTestRuns } from "./test-runs.ts";

const report = (progress: string): void => void process.stderr.write(`${progress}\n`);
const { values, positionals } = readArguments("contract", {
  prove: { type: "boolean", default: false },
  open: { type: "boolean", default: false },
  write: { type: "boolean", default: false },
  anew: { type: "boolean", default: false },
});
const served = await servedOperations();
const routeOf = new Map(served.map(({ operation, route }) => [operation, route]));
if (values.write) await write();
if (values.prove) await prove();
const faults = tableErrors(readRows(), served);
for (const fault of faults) report(fault);
const figures = { operations: served.length, proven: provenCount(readRows()), faults: faults.length };
process.stdout.write(`${JSON.stringify(figures)}\n`);
process.exit(faults.length === 0 ? 0 : 1);

async function write(): Promise<void> {
  const kept = values.anew ? [] : readRows().filter(({ operation }) => routeOf.has(operation));
  const known = new Set(kept.map(({ operation }) => operation));
  const open = served.filter(({ operation }) => !known.has(operation));
  const runs = await openTestRuns();
  report(`listening to the tests of the API, for ${open.length} operations …`);
  const heard = open.length === 0 ? [] : await runs.observe(positionals.length === 0 ? undefined : positionals);
  report(`${heard.length} tests passed`);
  const candidates = candidatesOf(heard);
  const proven = await proveRoutes(
    open.map(({ route }) => route),
    candidates,
    runs,
    report,
  );
  await runs.close();
  const found = open.flatMap(({ operation, route }): ContractRow[] => {
    const isProven = proven.has(route);
    const test = proven.get(route) ?? candidates.get(route)?.[0];
    return test ? [{ operation, file: test.file, name: test.name, isProven }] : [];
  });
  writeRows([...kept, ...found], served);
}

async function prove(): Promise<void> {
  const all = readRows();
  const tried = all.filter(
    ({ operation, isProven }) =>
      routeOf.has(operation) && !(values.open && isProven) && positionals.every((word) => operation.includes(word)),
  );
  const claimed = new Map(
    tried.map(({ operation, file, name }) => [routeOf.get(operation) as string, [{ file, name }]]),
  );
  const runs = await openTestRuns();
  const proven = await proveRoutes([...claimed.keys()], claimed, runs, report);
  await runs.close();
  const seen = new Map(
    tried.map((row) => [row, { ...row, isProven: proven.has(routeOf.get(row.operation) as string) }]),
  );
  writeRows(
    all.map((row) => seen.get(row) ?? row),
    served,
  );
}
