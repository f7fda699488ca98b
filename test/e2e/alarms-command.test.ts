import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EXIT } from "../../src/lib/exit-codes.ts";
import { ALARM_IDS } from "../../src/resources/alarms/alarm-types.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { type Ran, runCommand } from "../unit/cli/run-command.ts";

describe("the command alarms", () => {
  let daemon: TestDaemon;
  beforeAll(async () => {
    daemon = await startTestDaemon();
  });
  afterAll(() => daemon.stop());

  const carillon = (...argv: string[]): Promise<Ran> =>
    runCommand(["alarms", ...argv], { CARILLON_URL: daemon.url, CARILLON_TOKEN: daemon.first.token });
  const active = async (): Promise<string[][]> => (await carillon()).out.slice(1).map((line) => line.split(/ {2,}/));

  it("reports that all is well, and what is monitored", async () => {
    const { exitCode, out, err } = await carillon();
    expect([exitCode, out, err.join()]).toEqual([EXIT.ok, [], expect.stringContaining("No active alarms.")]);
    const all = (await carillon("list", "--all")).out.slice(1).map((line) => line.split(/ {2,}/));
    expect(all.sort()).toEqual(
      Object.keys(ALARM_IDS)
        .map((type) => [type, "OK"])
        .sort(),
    );
  });

  it("lists problems with the next step, and acknowledges one", async () => {
    const source = { name: "School", type: "table", path: "nowhere.csv" };
    const { id } = (await daemon.call<{ id: string }>("POST", "/load-definitions", source)).body;
    await daemon.call("POST", `/load-definitions/${id}/runs`, {});
    await expect.poll(active).toHaveLength(1);
    const told = await carillon("list");
    expect(told.out[1]).toMatch(/^sis_loader_failed +ACTIVE +\S+ .*The load from School failed: .*nowhere\.csv/);
    expect(told.err.join()).toContain("carillon alarms acknowledge sis_loader_failed");

    const said = await carillon("acknowledge", "sis_loader_failed", "--note", "File is asked for");
    expect([said.exitCode, said.out]).toEqual([EXIT.ok, ["sis_loader_failed acknowledged by Administrator."]]);
    expect((await active())[0]).toContain("Administrator (File is asked for)");
    expect((await carillon("list")).err).toEqual([]);
    const again = await carillon("acknowledge", ALARM_IDS.sis_loader_failed, "--json");
    expect(JSON.parse(again.out.join())).toMatchObject({ type: "sis_loader_failed", acknowledgementNote: null });
    expect(JSON.parse((await carillon("--json")).out.join())).toMatchObject([{ type: "sis_loader_failed" }]);
  });

  it("says which alarms there are, and that one is not active", async () => {
    const unknown = await carillon("acknowledge", "fire");
    expect([unknown.exitCode, unknown.err.join()]).toEqual([
      ...[EXIT.usage, expect.stringContaining("Alarm fire not found. Existing alarms: ")],
    ]);
    const calm = await carillon("acknowledge", "token_expiration");
    expect([calm.exitCode, calm.err.join()]).toEqual([EXIT.failure, expect.stringContaining("Only an active alarm")]);
  });
});
