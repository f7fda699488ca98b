import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ApiFixture } from "./api-fixture.ts";
import { type BellFixture, createBellFixture } from "./bell-fixture.ts";
import { openScenarioStartFixture } from "./scenario-start-fixture.ts";

let api: ApiFixture;
let bells: BellFixture;
beforeAll(async () => {
  ({ api } = await openScenarioStartFixture());
  bells = createBellFixture(() => api);
});
afterAll(() => api.close());

describe("forms", () => {
  it("accept numbers in list elements", async () => {
    const list = await bells.ringList("08:00:00");
    const answer = await api.call("POST", "/bell-schedules", {
      form: [
        ["name", "Form"],
        ["numWeeks", "1"],
        ["startDate", "2031-09-01"],
        ["endDate", "2031-12-19"],
        ["bellScheduleEntries[0][entryNum]", "0"],
        ["bellScheduleEntries[0][ringListId]", list],
        ["bellScheduleEntries[1][entryNum]", "4"],
        ["bellScheduleEntries[1][ringListId]", list],
        ["bellScheduleExceptions[][startDate]", "2031-10-01"],
        ["bellScheduleExceptions[][endDate]", "2031-10-02"],
        ["bellScheduleExceptions[][startDate]", "2031-11-01"],
        ["bellScheduleExceptions[][endDate]", "2031-11-02"],
        ["bellScheduleExceptions[][ringListId]", list],
      ],
    });
    expect([answer.status, answer.text]).toEqual([200, answer.text]);
    expect(answer.body).toMatchObject({
      bellScheduleEntries: [
        { entryNum: 0, ringListId: list },
        { entryNum: 4, ringListId: list },
      ],
      bellScheduleExceptions: [
        { startDate: "2031-10-01", ringListId: null },
        { startDate: "2031-11-01", ringListId: list },
      ],
    });
  });

  it("repeat the names of list elements, as Rack does", async () => {
    const answer = await api.call("POST", "/device-groups", {
      form: [
        ["name", "Rack"],
        ["filters[][attribute]", "Name"],
        ["filters[][comparison]", "EQUALS"],
        ["filters[][value]", ""],
        ["filters[][attribute]", "Description"],
        ["filters[][comparison]", "CONTAINS"],
        ["filters[][value]", "Gym"],
        ["filters[][complement]", "true"],
      ],
    });
    expect(answer.body.filters).toEqual([
      { attribute: "Name", comparison: "EQUALS", value: "", complement: false, caseSensitive: false },
      { attribute: "Description", comparison: "CONTAINS", value: "Gym", complement: true, caseSensitive: false },
    ]);
  });

  it("accept booleans and lists in list elements", async () => {
    const messageTemplateId = await bells.message();
    const answer = await api.call("POST", "/scenarios", {
      form: [
        ["name", "Fire"],
        ["backgroundColor", "#ff0000"],
        ["type", "standard"],
        ["fields[0][name]", "Where?"],
        ["fields[0][variable]", "where"],
        ["fields[0][type]", "option"],
        ["fields[0][options][]", "Gym"],
        ["fields[0][rank]", "3"],
        ["fields[0][required]", "true"],
        ["messages[0][name]", "First"],
        ["messages[0][message-template-id]", messageTemplateId],
      ],
    });
    expect([answer.status, answer.text]).toEqual([200, answer.text]);
    expect(answer.body.fields[0]).toMatchObject({ options: ["Gym"], rank: 3, required: true });
    expect(answer.body.messages[0]).toMatchObject({ name: "First", messageTemplateId });
  });
});

describe("timestamps", () => {
  it("accept a zone without a colon, in bodies and filters", async () => {
    const campaign = { enrollmentEndDate: "2031-01-02T03:04:05+0100" };
    const list = await api.call("POST", "/distribution-lists", { json: { name: "Campaign", campaign } });
    expect(list.body.campaign.enrollmentEndDate).toBe("2031-01-02T02:04:05.000Z");
    const total = async (query: string) => (await api.call("GET", `/distribution-lists?${query}`)).body.total;
    const all = await total("");
    expect(await total("createdAt__gt=2020-01-01T00:00:00%2B0000")).toBe(all);
    expect(await total("createdAt__gt=2020-01-01T00:00:00+0000")).toBe(all);
    expect(await total("createdAt__lt=2020-01-01T00:00:00%2B0000")).toBe(0);
  });
});

describe("JSON text within JSON", () => {
  it("names the device that starts a scenario", async () => {
    const site = await bells.make("/sites", { name: "North" });
    const building = await bells.make(`/sites/${site}/buildings`, { name: "Main" });
    const place = { siteId: site, buildingId: building };
    const device = await bells.make("/api-devices", { name: "Button", externalId: "B-7", ...place });
    const { id: user } = await api.user("Ann");
    const scenarioId = await bells.make("/scenarios", {
      ...{ name: "Help", backgroundColor: "#ff0000", type: "standard", locationEnabled: true },
      ...{ locationQuestionName: "Where?", locationVariable: "place" },
      messages: [
        {
          name: "Help",
          messageTemplateId: await bells.make("/message-templates", { name: "H", subject: "H", userIds: [user] }),
        },
      ],
    });
    const started = await api.call("POST", "/scenario-notifications", {
      json: { scenarioId, initiationDevice: '{"type":"api-device","lookupValue":"B-7"}' },
    });
    expect([started.status, started.body.initiationDevice?.id]).toEqual([200, device]);
  });
});
