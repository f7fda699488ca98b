import { describe, expect, it } from "vitest";
import { withTable } from "../../support/benchmark-tables.ts";

describe("tables of the benchmarks", () => {
  const text = "# Title\n<!-- a: begin (by hand) -->\nold\n<!-- a: end -->\n<!-- b: begin -->\n<!-- b: end -->\nrest\n";

  it("replace the text between the markers of their name", () => {
    expect(withTable(text, "a", "new")).toBe(text.replace("old", "new"));
    expect(withTable(text, "b", "| 1 |")).toBe(text.replace("<!-- b: begin -->\n", "<!-- b: begin -->\n| 1 |\n"));
  });

  it("need a place", () => {
    expect(() => withTable(text, "c", "new")).toThrow("no place for the table c");
  });
});
