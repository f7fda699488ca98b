import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SITE_QUESTION_ID } from "../../src/scenarios/scenario-questions.ts";
import { defaultSettings } from "../../src/settings/schema.ts";
import { UNKNOWN_ID } from "../support/sample-values.ts";
import type { ApiFixture } from "./api-fixture.ts";
import { expectError } from "./resource-suite.ts";
import { openScenarioStartFixture } from "./scenario-start-fixture.ts";

/** Scenarios by what they say of places. */
const SCENARIOS = {
  /** Without a place. */
  plain: { locationEnabled: false },
  /** Somebody has to say where. */
  asking: { locationEnabled: true },
  /** At South unless somebody says where. */
  usual: { locationEnabled: true, defaultSiteId: "@South" },
  /** In a zone unless somebody says where: the levels above it follow. */
  narrow: { locationEnabled: true, defaultZoneId: "@North.Main.Ground.Lobby" },
} as const;

/** Two sites with a Main each and an Annex, and devices in the lab and in the south. */
const PLACES = {
  North: {
    Main: { Ground: ["Lobby"], Upper: [] },
    Annex: { Attic: ["Lab"] },
  },
  South: { Main: { Ground: ["Lobby"], Upper: [] } },
} as const;

let api: ApiFixture;
let close: () => Promise<void>;
/** Ids by the names that the cases use. */
const id: Record<string, string> = {};

beforeAll(async () => {
  const { create, ...opened } = await openScenarioStartFixture();
  ({ api } = opened);
  close = () => api.close();
  const made = async (path: string, at: string, name: string, more: object = {}) => {
    id[at] = (await create(path, { name, externalId: `${at}-id`, ...more })).id;
    return `${path}/${id[at]}`;
  };
  for (const [site, buildings] of Object.entries(PLACES)) {
    const inSite = await made("/sites", site, site);
    for (const [building, floors] of Object.entries(buildings)) {
      const inBuilding = await made(`${inSite}/buildings`, `${site}.${building}`, building);
      for (const [floor, zones] of Object.entries(floors)) {
        const inFloor = await made(`${inBuilding}/floors`, `${site}.${building}.${floor}`, floor);
        for (const zone of zones) await made(`${inFloor}/zones`, `${site}.${building}.${floor}.${zone}`, zone);
      }
    }
  }
  const device = (externalId: string, place: object) =>
    create("/api-devices", { name: externalId, externalId, ...place });
  const lab = { floorId: id["North.Annex.Attic"], zoneId: id["North.Annex.Attic.Lab"] };
  await device("lab-button", { siteId: id.North, buildingId: id["North.Annex"], ...lab });
  await device("south-button", { siteId: id.South, buildingId: id["South.Main"] });
  const user = (await api.user("Ann")).id;
  const template = await create("/message-templates", { name: "T", subject: "At {{where}}", userIds: [user] });
  for (const [name, more] of Object.entries(SCENARIOS)) {
    const rest = {
      backgroundColor: "#ff0000",
      type: "standard",
      messages: [{ name: "A", messageTemplateId: template.id }],
    };
    const place = more.locationEnabled ? { locationVariable: "where" } : {};
    id[name] = (await create("/scenarios", { name, ...rest, ...place, ...(withIds(more) as object) })).id;
  }
});
afterAll(() => close());

/** What a client tells; `@North.Main` stands for an id. */
function withIds(told: unknown): unknown {
  if (typeof told === "string" && told.startsWith("@")) return id[told.slice(1)];
  if (typeof told !== "object" || told === null || Array.isArray(told)) return told;
  return Object.fromEntries(Object.entries(told).map(([name, value]) => [name, withIds(value)]));
}

type Scenario = keyof typeof SCENARIOS;

interface Told {
  location?: unknown;
  /** Answer to the question about the site. */
  answer?: string;
  device?: string;
  strategy?: readonly string[];
}

const start = (scenario: Scenario, { location, answer, device, strategy }: Told) => {
  const fields = answer === undefined ? [] : [{ fieldId: SITE_QUESTION_ID, answer: withIds(answer) }];
  const initiationDevice = device === undefined ? undefined : { lookupValue: device };
  const place = { location: withIds(location), initiationDevice, locationResolutionStrategy: strategy };
  const json = { scenarioId: id[scenario], fields, ...place };
  return api.call("POST", "/scenario-notifications", { json });
};

const LOBBY = "North.Main.Ground.Lobby";
const LAB = "North.Annex.Attic.Lab";

/** Where a start takes place, as a path of names; null for nowhere. */
const PLACED: [scenario: Scenario, told: Told, place: string | null, words: string][] = [
  ["plain", {}, null, "At"],
  ["plain", { location: null }, null, "At"],
  ["plain", { device: "unheard-of" }, null, "At"],
  ["asking", { location: { site: { id: "@North" } } }, "North", "At North"],
  ["asking", { location: { site: { externalId: "North-id" } } }, "North", "At North"],
  ["asking", { location: { site: { name: "south" } } }, "South", "At South"],
  ["asking", { location: { building: { id: "@South.Main" } } }, "South.Main", "At Main, South"],
  ["asking", { location: { building: { name: "Annex" } } }, "North.Annex", "At Annex, North"],
  ["asking", { location: { site: { name: "South" }, building: { name: "Main" } } }, "South.Main", "At Main, South"],
  [
    "asking",
    { location: { floor: { externalId: "North.Main.Upper-id" } } },
    "North.Main.Upper",
    "At Upper, Main, North",
  ],
  ["asking", { location: { floor: { name: "Attic" } } }, "North.Annex.Attic", "At Attic, Annex, North"],
  ["asking", { location: { zone: { id: `@${LOBBY}` } } }, LOBBY, "At Lobby, Ground, Main, North"],
  ["asking", { location: { zone: { name: "Lab" } } }, LAB, "At Lab, Attic, Annex, North"],
  [
    "asking",
    { location: { site: { name: "North" }, zone: { name: "Lobby" } } },
    LOBBY,
    "At Lobby, Ground, Main, North",
  ],
  ["asking", { location: { site: { id: "@South", name: "North" } } }, "South", "At South"],
  ["asking", { location: { site: { id: "@North" }, building: null, floor: null, zone: null } }, "North", "At North"],
  ["asking", { answer: "@North" }, "North", "At North"],
  ["asking", { answer: "South-id" }, "South", "At South"],
  ["asking", { answer: "north" }, "North", "At North"],
  ["asking", { device: "lab-button" }, LAB, "At Lab, Attic, Annex, North"],
  ["asking", { device: "SOUTH-BUTTON" }, "South.Main", "At Main, South"],
  ["asking", { device: "unheard-of" }, null, "At "],
  ["asking", { device: "lab-button", location: { site: { id: "@South" } } }, "South", "At South"],
  ["asking", { device: "lab-button", answer: "South" }, "South", "At South"],
  ["asking", { device: "unheard-of", location: { site: { id: "@South" } } }, "South", "At South"],
  ["usual", {}, "South", "At South"],
  ["usual", { location: "" }, "South", "At South"],
  ["usual", { location: { zone: { name: "Lab" } } }, LAB, "At Lab, Attic, Annex, North"],
  ["usual", { answer: "North" }, "North", "At North"],
  ["usual", { device: "lab-button" }, LAB, "At Lab, Attic, Annex, North"],
  ["usual", { device: "unheard-of" }, "South", "At South"],
  ["narrow", {}, LOBBY, "At Lobby, Ground, Main, North"],
  ["narrow", { device: "south-button" }, "South.Main", "At Main, South"],
  ["narrow", { location: { site: { id: "@North" } } }, "North", "At North"],
  ["plain", { device: "lab-button" }, LAB, "At"],
  ["usual", { device: "lab-button", strategy: ["scenario-default", "initiation-device"] }, "South", "At South"],
  [
    "asking",
    { device: "lab-button", strategy: ["scenario-default", "initiation-device"] },
    LAB,
    "At Lab, Attic, Annex, North",
  ],
  [
    "asking",
    { device: "lab-button", answer: "South", strategy: ["initiation-device", "site-question"] },
    LAB,
    "At Lab, Attic, Annex, North",
  ],
  ["usual", { device: "unheard-of", strategy: ["initiation-device"] }, null, "At "],
  ["usual", { device: "lab-button", strategy: [] }, LAB, "At Lab, Attic, Annex, North"],
  ["narrow", { device: "south-button", strategy: ["scenario-default"] }, LOBBY, "At Lobby, Ground, Main, North"],
];

const REFUSED: [scenario: Scenario, told: Told, type: "required" | "invalid-value", field: string][] = [
  ["asking", {}, "required", "location"],
  ["asking", { location: null }, "required", "location"],
  ["asking", { location: {} }, "invalid-value", "location"],
  ["asking", { location: "North" }, "invalid-value", "location"],
  ["asking", { location: { site: "North" } }, "invalid-value", "location"],
  ["asking", { location: { site: { id: UNKNOWN_ID } } }, "invalid-value", "location"],
  ["asking", { location: { site: { id: "@North.Main" } } }, "invalid-value", "location"],
  ["asking", { location: { zone: { name: "Cave" } } }, "invalid-value", "location"],
  ["asking", { location: { zone: { name: "Lobby" } } }, "invalid-value", "location"],
  ["asking", { location: { building: { name: "Main" } } }, "invalid-value", "location"],
  ["asking", { location: { site: { id: "@South" }, building: { name: "Annex" } } }, "invalid-value", "location"],
  ["asking", { location: { floor: { id: "@South.Main.Upper" }, zone: { name: "Lab" } } }, "invalid-value", "location"],
  ["asking", { location: { site: { id: "@North" } }, answer: "North" }, "invalid-value", "location"],
  ["usual", { location: { site: { id: "@North" } }, answer: "South" }, "invalid-value", "location"],
  ["asking", { answer: "Nowhere" }, "invalid-value", "fields"],
  ["asking", { answer: UNKNOWN_ID }, "invalid-value", "fields"],
  ["asking", { answer: "Main" }, "invalid-value", "fields"],
  ["plain", { location: { site: { id: "@North" } } }, "invalid-value", "location"],
  ["plain", { answer: "North" }, "invalid-value", "fields"],
  ["usual", { location: { site: { id: UNKNOWN_ID } } }, "invalid-value", "location"],
  ["usual", { strategy: ["location"] }, "required", "location"],
  ["usual", { strategy: ["nearest"] }, "invalid-value", "locationResolutionStrategy"],
  ["usual", { strategy: ["initiation-device", "Location"] }, "invalid-value", "locationResolutionStrategy"],
  ["asking", { location: { site: { id: "@North" } }, strategy: ["initiation-device"] }, "invalid-value", "location"],
  ["asking", { answer: "North", strategy: ["location"] }, "invalid-value", "fields"],
];

describe("the location of a start", () => {
  const named = <C extends readonly [Scenario, Told, ...unknown[]]>(cases: readonly C[]) =>
    cases.map((each) => [`${each[0]} ${JSON.stringify(each[1])}`, each] as const);

  it.each(named(PLACED))("%s", async (_name, [scenario, told, place, words]) => {
    const { status, body } = await start(scenario, told);
    expect([status, body.events?.[0]?.notification.subject]).toEqual([200, words]);
    const levels = ["site", "building", "floor", "zone"];
    const path = place?.split(".") ?? [];
    const ids = levels.map((_, at) => (at < path.length ? id[path.slice(0, at + 1).join(".")] : null));
    expect([body.siteId, body.buildingId, body.floorId, body.zoneId]).toEqual(ids);
    const names = place === null ? [] : levels.flatMap((level) => body.location?.[level]?.name ?? []);
    expect(names).toEqual(path);
  });

  it.each(named(REFUSED))("is refused: %s", async (_name, [scenario, told, type, field]) => {
    expectError(await start(scenario, told), 400, type, field);
  });
});

describe("once the transition is over", () => {
  it("neither reports nor answers the question about the site", async () => {
    const settings = { ...defaultSettings(), scenarios: { syntheticSiteQuestion: false } };
    const { api: later } = await openScenarioStartFixture(settings);
    try {
      const template = (await later.call("POST", "/message-templates", { json: { name: "T", subject: "S" } })).body;
      const json = {
        name: "Fire",
        backgroundColor: "#ff0000",
        type: "standard",
        locationEnabled: true,
        messages: [{ name: "A", messageTemplateId: template.id }],
      };
      const made = (await later.call("POST", "/scenarios", { json })).body;
      expect(made.fields).toEqual([]);
      const site = { id: SITE_QUESTION_ID, name: "Where?", variable: "where", type: "site" };
      const change = { json: { fields: [site] } };
      expectError(await later.call("PUT", `/scenarios/${made.id}`, change), 400, "invalid-value", "fields");
      const fields = [{ fieldId: SITE_QUESTION_ID, answer: "x" }];
      const answer = await later.call("POST", "/scenario-notifications", { json: { scenarioId: made.id, fields } });
      expectError(answer, 400, "invalid-value", "fields");
    } finally {
      await later.close();
    }
  });
});
