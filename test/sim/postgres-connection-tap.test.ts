import { describe, expect, it } from "vitest";
import { isCommit, statementsIn } from "./postgres-connection-tap.ts";

/** As the driver sends it. @source PostgreSQL 15, 55.7 */
function message(kind: string, text: string): Buffer {
  const body = Buffer.from(`${text}\0`);
  const head = Buffer.alloc(5, kind);
  head.writeInt32BE(4 + body.length, 1);
  return Buffer.concat([head, body]);
}

const commits = (kind: string, text: string): boolean => isCommit(statementsIn(message(kind, text)));

describe("the PostgreSQL connection tap", () => {
  it("takes a transaction for ended by its last statement alone", () => {
    expect(commits("Q", "COMMIT")).toBe(true);
    expect(commits("Q", "UPDATE rows SET seq = 4; COMMIT")).toBe(true);
    expect(commits("Q", "BEGIN; CREATE TABLE rows ();\n COMMIT;\n")).toBe(true);
    expect(commits("Q", "UPDATE rows SET note = 'COMMIT'")).toBe(false);
    expect(commits("Q", "ROLLBACK; SELECT 1 AS a_COMMIT")).toBe(false);
    expect(commits("Q", "COMMIT; BEGIN")).toBe(false);
  });

  it("never mistakes a row or a file for a statement, whatever it contains", () => {
    for (const kind of ["B", "P", "d", "X"]) expect(commits(kind, "; COMMIT")).toBe(false);
    expect(statementsIn(message("B", "NOTIFY carillon"))).toBe("");
    expect(statementsIn(message("Q", "NOTIFY carillon"))).toBe("NOTIFY carillon");
  });
});
