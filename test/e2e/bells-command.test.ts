import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EXIT } from "../../src/lib/exit-codes.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { type Ran, runCommand } from "../unit/cli/run-command.ts";

describe("the commands bells preview and diff", () => {
  let daemon: TestDaemon;
  beforeAll(async () => {
    daemon = await startTestDaemon();
  });
  afterAll(() => daemon.stop());

  const bells = (...argv: string[]): Promise<Ran> =>
    runCommand(["bells", ...argv], { CARILLON_URL: daemon.url, CARILLON_TOKEN: daemon.first.token });
  const make = async (path: string, row: object): Promise<string> => {
    const { status, body } = await daemon.call<{ id: string }>("POST", path, row);
    expect([path, status]).toEqual([path, 200]);
    return body.id;
  };

  it("say that there is no schedule, and what makes one", async () => {
    const { exitCode, out, err } = await bells("preview", "--day", "2031-09-01");
    expect([exitCode, out, err.join()]).toEqual([EXIT.ok, [], expect.stringContaining("No bell schedules yet")]);
  });

  it("show the rings of a day, that another one has none, and how the two differ", async () => {
    const messageTemplateId = await make("/message-templates", { name: "Bell", subject: "Bell" });
    const entries = [{ time: "08:00:00", messageTemplateId }];
    const ringListId = await make("/ring-lists", { name: "Normal", entries });
    await make("/bell-schedules", {
      ...{ name: "School", numWeeks: 1, startDate: "2031-09-01", endDate: "2032-06-30", timeZone: "Europe/Berlin" },
      bellScheduleEntries: [{ entryNum: 0, ringListId }],
    });
    const monday = await bells("preview", "--day", "2031-09-01");
    expect([monday.exitCode, monday.err, monday.out]).toEqual([EXIT.ok, [], [expect.stringContaining("08:00:00")]]);
    const tuesday = await bells("preview", "--day", "2031-09-02");
    expect([tuesday.out, tuesday.err]).toEqual([[], ["No rings on 2031-09-02."]]);
    const differ = await bells("diff", "--day", "2031-09-01", "--other", "2031-09-02");
    expect([differ.exitCode, differ.out]).toEqual([EXIT.failure, [expect.stringMatching(/^\+ .*08:00:00/)]]);
    expect(await bells("diff", "--day", "2031-09-01", "--other", "2031-09-08")).toMatchObject({ exitCode: EXIT.ok });
    expect(await bells("preview", "--day", "2031-02-30")).toMatchObject({ exitCode: EXIT.usage });
  });

  it("read schedules without a zone in that of the appliance", async () => {
    const { extensionId, endpointId } = daemon.first;
    const at = `/extensions/${extensionId}/endpoints/${endpointId}`;
    const config = { timeZone: "America/Chicago" };
    expect((await daemon.call("PUT", at, { config })).status).toBe(200);
    const messageTemplateId = await make("/message-templates", { name: "Gong", subject: "Gong" });
    const entries = [{ time: "09:00:00", messageTemplateId }];
    const ringListId = await make("/ring-lists", { name: "Early", entries });
    await make("/bell-schedules", {
      ...{ name: "Workshop", numWeeks: 1, startDate: "2030-07-01", endDate: "2030-07-31" },
      bellScheduleEntries: [{ entryNum: 0, ringListId }],
    });
    const { out } = await bells("preview", "--day", "2030-07-01");
    expect(out).toEqual([expect.stringContaining("09:00:00  America/Chicago  2030-07-01T14:00:00.000Z")]);
  });
});
