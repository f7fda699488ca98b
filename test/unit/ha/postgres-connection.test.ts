import { expect, it } from "vitest";
import { isPostgresConnectionError, isLockTimeout } from "../../../src/ha/postgres-connection.ts";

it.each([
  ["a socket whose code looks like the server's", { code: "EPIPE" }, true],
  ["a socket", { code: "ECONNRESET" }, true],
  ["the driver's patience", {}, true],
  ["a server that ends", { severity: "FATAL", code: "57P01" }, true],
  ["a connection that failed", { severity: "ERROR", code: "08006" }, true],
  ["what the server does not want", { severity: "ERROR", code: "23505" }, false],
])("a connection is given up by what %s says: %o", (_, error, isGone) => {
  expect(isPostgresConnectionError(error)).toBe(isGone);
});

it("does not count a lock timeout as a connection error", () => {
  const error = { severity: "ERROR", code: "55P03" };
  expect([isLockTimeout(error), isPostgresConnectionError(error)]).toEqual([true, false]);
});
