import { describe, expect, it } from "vitest";
import {
  BugError,
  CallerError,
  ConflictError,
  forbidden,
  invalidValue,
  LimitError,
  notFound,
  requiredValue,
  UpstreamError,
  validationError,
} from "../../../src/lib/errors.ts";

describe("errors", () => {
  it("are errors with their own name, a type and a stack", () => {
    for (const [error, name, type] of [
      [new CallerError("forbidden", "no"), "CallerError", "forbidden"],
      [new ConflictError("taken", "name"), "ConflictError", "conflict"],
      [new LimitError("Limit of 5 /users reached.", 5), "LimitError", "limit-exceeded"],
      [new UpstreamError("storage-full", "full"), "UpstreamError", "storage-full"],
      [new BugError("wrong"), "BugError", "bug"],
    ] as const) {
      expect(error).toBeInstanceOf(Error);
      expect([error.name, error.type]).toEqual([name, type]);
      expect(error.stack).toContain("errors.test.ts");
    }
  });

  it("keep context and cause for the log, and have no cause when none was given", () => {
    const cause = new RangeError("disk");
    const error = new UpstreamError("upstream", "no answer", { host: "h" }, cause);
    expect(error.context).toEqual({ host: "h" });
    expect(error.cause).toBe(cause);
    expect("cause" in new UpstreamError("upstream", "no answer")).toBe(false);
  });

  it("name the invalid field in the message and as data", () => {
    expect(requiredValue("name")).toMatchObject({
      type: "required",
      message: "Field name is required.",
      faults: [{ field: "name", type: "required", message: "Field name is required." }],
    });
    expect(invalidValue("ttl").message).toBe("Field ttl is not valid.");
    expect(invalidValue("ttl", "At most 255.").message).toBe("Field ttl is not valid. At most 255.");
    expect(new ConflictError("taken", "name").field).toBe("name");
    expect(new LimitError("Limit of 5 /users reached.", 5).message).toBe("Limit of 5 /users reached.");
  });

  it("collect all invalid fields under the first one's type", () => {
    const faults = [...requiredValue("a").faults, ...invalidValue("b").faults];
    expect(validationError(faults)).toMatchObject({ type: "required", message: "Field a is required.", faults });
    expect(() => validationError([])).toThrow(BugError);
  });

  it("give the same error for hidden and missing resources", () => {
    expect([notFound().type, forbidden().type]).toEqual(["not-found", "forbidden"]);
    expect(notFound().faults).toEqual([]);
  });
});
