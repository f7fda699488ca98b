import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EXIT } from "../../src/lib/exit-codes.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { zipFile } from "../support/zip-file.ts";
import { type Ran, runCommand } from "../unit/cli/run-command.ts";

describe("the command load", () => {
  let daemon: TestDaemon;
  beforeAll(async () => {
    daemon = await startTestDaemon();
  });
  afterAll(() => daemon.stop());

  const carillon = (...argv: string[]): Promise<Ran> =>
    runCommand(["load", ...argv], { CARILLON_URL: daemon.url, CARILLON_TOKEN: daemon.first.token });
  const write = (name: string, content: string | Buffer): string => {
    const path = join(makeTempDir(), name);
    writeFileSync(path, content);
    return path;
  };
  const resultOf = ({ out }: Ran) => JSON.parse(out.at(-1) ?? "{}") as Record<string, unknown>;

  it("tries a table, is corrected, and imports it with the line that has an error left out", async () => {
    await daemon.call("POST", "/load-definitions", { name: "Staff", type: "table", errorThreshold: 60 });
    const lines = ["email;name;lists", "a@example.org;Zo\xeb;Staff", 'b@example.org;Ben "B" B;Staff', ""];
    const file = write("staff.csv", Buffer.from(lines.join("\r\n"), "latin1"));
    const tried = await carillon("Staff", "--file", file, "--test");
    expect(tried.exitCode).toBe(EXIT.ok);
    expect(tried.err).toContain("staff.csv: bulk, 2 lines, windows-1252, separator semicolon, quotes double");
    expect(tried.err.join("\n")).toContain("error: staff.csv, line 3, name: A cell that contains a quote");
    const wrong = await carillon("Staff", "--delimiter", "tab");
    expect([wrong.exitCode, wrong.err.join()]).toEqual([EXIT.failure, expect.stringContaining("Missing column email")]);
    const right = await carillon("Staff", "--delimiter", "detect", "--quote", "none");
    expect(resultOf(right)).toMatchObject({ state: "complete", usersCreated: 2, linesWithErrors: 0 });
  });

  it("stops for a roster that lacks a file, and continues after confirmation", async () => {
    await daemon.call("POST", "/load-definitions", { name: "School", type: "oneroster" });
    const users = "sourcedId,givenName,familyName,orgSourcedIds\nu1,Ada,Moss,o1\n";
    const orgs = "sourcedId,name\no1,North School\n";
    const whole = write("roster.zip", zipFile({ "users.csv": users, "orgs.csv": orgs }));
    expect(resultOf(await carillon("School", "--file", whole))).toMatchObject({ state: "complete", listsCreated: 1 });
    const part = write("roster.zip", zipFile({ "users.csv": users }));
    const stopped = await carillon("School", "--file", part);
    expect(stopped.exitCode).toBe(EXIT.failure);
    expect(stopped.err.join("\n")).toMatch(/orgs\.csv is missing[\s\S]*go on with --confirm/);
    expect(resultOf(await carillon("School", "--confirm"))).toMatchObject({ state: "complete", listsRemoved: 0 });
  });

  it("says which sources there are, and which formats", async () => {
    const unknown = await carillon("Nowhere");
    expect(unknown.err.join()).toContain("Source Nowhere not found. Existing sources:");
    expect((await carillon("School", "--encoding", "ebcdic")).exitCode).toBe(EXIT.usage);
  });
});
