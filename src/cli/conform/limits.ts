import { type Checking, expect, heardWords } from "./findings.ts";

/** Families with a higher limit are not filled: that many rows are no check but a load. own choice */
const MOST_FILLED = 200;

/** Fills the family, to see that one row more is refused. */
export async function checkLimit(checking: Checking): Promise<void> {
  const { path, target } = checking;
  if (path.limit === undefined || path.limit > MOST_FILLED) return;
  const before = target.made();
  await fill(checking, path.limit);
  await target.tidy(before);
}

async function fill(checking: Checking, limit: number): Promise<void> {
  const { path, rows, target } = checking;
  const { body } = await target.ask("GET", `${await rows.fill(path.at)}?limit=1`);
  for (let count = Number(body?.total); count < limit; count++) {
    const heard = await rows.create(path.at, await rows.body(path, "minimal"));
    if (!expect(checking, heard.status === 200, `row ${count + 1} of ${limit}: ${heardWords(heard)}`)) return;
  }
  const over = await rows.create(path.at, await rows.body(path, "minimal"));
  const fine = over.status === 400 && over.body?.type === "limit-exceeded";
  expect(checking, fine, `a row above the limit of ${limit} answered ${heardWords(over)}`, { operation: "post" });
}

/** As many filters as are allowed, and one more. */
export async function checkFilterLimit(checking: Checking): Promise<void> {
  const { path, rows } = checking;
  if (path.filterLimit === undefined) return;
  const full = await rows.body(path, "full");
  const [filter] = full.filters as unknown[];
  const many = (n: number): Record<string, unknown> => ({ ...full, filters: Array.from({ length: n }, () => filter) });
  const fits = await rows.create(path.at, many(path.filterLimit));
  const over = await rows.create(path.at, many(path.filterLimit + 1));
  const fine = fits.status === 200 && over.status === 400;
  expect(checking, fine, `${path.filterLimit} filters answered ${heardWords(fits)}, one more ${heardWords(over)}`, {
    field: "filters",
  });
}
