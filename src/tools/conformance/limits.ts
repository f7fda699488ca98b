import { type CheckContext, describeResponse, expectThat } from "./findings.ts";

/** Resources with a higher limit are not filled: that would be a load test. */
const MAX_FILLED_ROWS = 200;

/** Fills the resource up to its limit, and checks that one more row is rejected. */
export async function checkLimit(context: CheckContext): Promise<void> {
  const { path, target } = context;
  if (path.limit === undefined || path.limit > MAX_FILLED_ROWS) return;
  const before = target.trackedCount();
  await fillToLimit(context, path.limit);
  await target.cleanUp(before);
}

async function fillToLimit(context: CheckContext, limit: number): Promise<void> {
  const { path, rows, target } = context;
  const { body } = await target.request("GET", `${await rows.fillPath(path.at)}?limit=1`);
  for (let count = Number(body?.total); count < limit; count++) {
    const response = await rows.create(path.at, await rows.body(path, "minimal"));
    if (!expectThat(context, response.status === 200, `row ${count + 1} of ${limit}: ${describeResponse(response)}`))
      return;
  }
  const over = await rows.create(path.at, await rows.body(path, "minimal"));
  const isRejected = over.status === 400 && over.body?.type === "limit-exceeded";
  expectThat(context, isRejected, `a row above the limit of ${limit} returned ${describeResponse(over)}`, {
    operation: "post",
  });
}

/** The maximum number of filters is accepted, one more is rejected. */
export async function checkFilterLimit(context: CheckContext): Promise<void> {
  const { path, rows } = context;
  if (path.filterLimit === undefined) return;
  const full = await rows.body(path, "full");
  const [filter] = full.filters as unknown[];
  const many = (n: number): Record<string, unknown> => ({ ...full, filters: Array.from({ length: n }, () => filter) });
  const fits = await rows.create(path.at, many(path.filterLimit));
  const over = await rows.create(path.at, many(path.filterLimit + 1));
  const isExpected = fits.status === 200 && over.status === 400;
  expectThat(
    context,
    isExpected,
    `${path.filterLimit} filters returned ${describeResponse(fits)}, one more ${describeResponse(over)}`,
    {
      field: "filters",
    },
  );
}
