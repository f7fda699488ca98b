import { type CheckContext, describeResponse, expectThat } from "./findings.ts";

/** Families with a higher limit are not filled: that many rows are no check but a load. own choice */
const MAX_FILLED_ROWS = 200;

/** Fills the family, to see that one row more is refused. */
export async function checkLimit(checking: CheckContext): Promise<void> {
  const { path, target } = checking;
  if (path.limit === undefined || path.limit > MAX_FILLED_ROWS) return;
  const before = target.trackedCount();
  await fillToLimit(checking, path.limit);
  await target.cleanUp(before);
}

async function fillToLimit(checking: CheckContext, limit: number): Promise<void> {
  const { path, rows, target } = checking;
  const { body } = await target.request("GET", `${await rows.fillPath(path.at)}?limit=1`);
  for (let count = Number(body?.total); count < limit; count++) {
    const heard = await rows.create(path.at, await rows.body(path, "minimal"));
    if (!expectThat(checking, heard.status === 200, `row ${count + 1} of ${limit}: ${describeResponse(heard)}`)) return;
  }
  const over = await rows.create(path.at, await rows.body(path, "minimal"));
  const fine = over.status === 400 && over.body?.type === "limit-exceeded";
  expectThat(checking, fine, `a row above the limit of ${limit} answered ${describeResponse(over)}`, {
    operation: "post",
  });
}

/** As many filters as are allowed, and one more. */
export async function checkFilterLimit(checking: CheckContext): Promise<void> {
  const { path, rows } = checking;
  if (path.filterLimit === undefined) return;
  const full = await rows.body(path, "full");
  const [filter] = full.filters as unknown[];
  const many = (n: number): Record<string, unknown> => ({ ...full, filters: Array.from({ length: n }, () => filter) });
  const fits = await rows.create(path.at, many(path.filterLimit));
  const over = await rows.create(path.at, many(path.filterLimit + 1));
  const fine = fits.status === 200 && over.status === 400;
  expectThat(
    checking,
    fine,
    `${path.filterLimit} filters answered ${describeResponse(fits)}, one more ${describeResponse(over)}`,
    {
      field: "filters",
    },
  );
}
