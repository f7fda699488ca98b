import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ReceivedAlert } from "../../../plugins/cap-in/alert.ts";
import { assessInfos, contentOf } from "../../../plugins/cap-in/alert-filter.ts";
import { parseFeedConfigs } from "../../../plugins/cap-in/feed-config.ts";
import { parseCapArea } from "../../../plugins/cap-out/cap-area.ts";
import { compileStoredGroups } from "../../../src/devices/group-scan.ts";
import { ownRecipients } from "../../../src/notifications/compose/own-recipients.ts";
import alarmActions from "../../../src/resources/alarms/alarm-actions.ts";
import areasOfInterest from "../../../src/resources/areas/areas-of-interest.ts";
import boundaryTriggers from "../../../src/resources/areas/boundary-triggers.ts";
import deviceGroups from "../../../src/resources/devices/device-groups.ts";
import m2mInputs from "../../../src/resources/inputs/m2m-inputs.ts";
import distributionLists from "../../../src/resources/lists/distribution-lists.ts";
import messageTemplates from "../../../src/resources/messages/message-templates.ts";
import { createCatalogue } from "../../../src/schema/catalogue.ts";
import type { AnyResource } from "../../../src/schema/resource.ts";
import { findMissingReferences, withoutReferences } from "../../../src/sync/protocol/missing-references.ts";
import { readReplicatedTypes } from "../../../src/sync/protocol/replicated-types.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../../src/wiring/load-declarations.ts";
import { createRandomSource } from "../../sim/seeded-random.ts";
import { openAlarms } from "../alarms/alarms-fixture.ts";
import { openAreas } from "../areas/areas-fixture.ts";
import { type InputsFixture, openInputs } from "../inputs/inputs-fixture.ts";

/** Resources whose recipients or members fall back to more than they name where nothing is named. */
const WIDENING = /replace|without (lists|base)|whose devices are filtered/i;

describe("the reach of an alert", () => {
  it("has a counter of lost references wherever an empty list means more than a full one", async () => {
    const catalogue = createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS]));
    const widening = catalogue.all.flatMap((resource: AnyResource) =>
      Object.entries(resource.fields).flatMap(([name, field]) =>
        field.kind === "many" && (WIDENING.test(field.doc) || field.lostIn) ? [{ resource, name, field }] : [],
      ),
    );
    const uncounted = widening.filter(
      ({ resource, field }) => !(field.lostIn && resource.fields[field.lostIn]?.kind === "integer"),
    );
    expect(uncounted.map(({ resource, name }) => `${resource.name}.${name}`)).toEqual([]);
    expect(new Set(widening.map(({ resource }) => resource.name))).toEqual(
      new Set([
        ...["alarm-actions", "boundary-triggers", "call-aware-call-redirects", "call-aware-routing-requests"],
        ...["device-groups", "dialcast-dialing-configurations", "m2m-inputs", "night-bells", "scheduled-notifications"],
      ]),
    );
  });
});

describe("a rule", () => {
  let scene: InputsFixture;
  beforeEach(async () => {
    scene = await openInputs();
  });
  afterEach(() => scene.close());

  it("never reaches more than its recipients, whichever of them are deleted and whatever is saved again", async () => {
    const random = createRandomSource(1).next;
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
    const wide = await scene.list("Everyone", [await scene.user("Wide")]);
    const messageTemplateId = await scene.template("Wide", { distributionListIds: [wide] });
    let widened = 0;
    let failed = 0;
    const areaId = (
      await scene.create(areasOfInterest, {
        ...{ name: "A", geometryType: "circle" },
        geometryValue: {
          type: "Feature",
          geometry: { type: "Point", coordinates: [11, 48] },
          properties: { radiusInM: 9 },
        },
      })
    ).id;
    for (let round = 0; round < 30; round++) {
      const groups = [await scene.group(`G${round}a`, []), await scene.group(`G${round}b`, [])];
      const lists = [await scene.list(`L${round}`)];
      const deviceGroupIds = groups.filter(() => random() < 0.7);
      const distributionListIds = lists.filter(() => random() < 0.7);
      const named = new Set([...deviceGroupIds, ...distributionListIds]);
      if (named.size === 0) continue;
      const rule = await scene.create(m2mInputs, {
        ...{ name: `R${round}`, source: `S${round}`, messageTemplateId, deviceGroupIds, distributionListIds },
        ...{ throttlingInSecs: 0, useAreas: random() < 0.5 },
      });
      for (const id of [...named].sort(() => random() - 0.5)) {
        const resource = lists.includes(id) ? distributionLists : deviceGroups;
        await scene.store.write((tx) => tx.remove(resource, id, scene.by));
        const read = scene.store.get(m2mInputs, rule.id);
        const { name, deviceGroupIds: g, distributionListIds: l, lostReferences } = read ?? ({} as never);
        // Clients change one field, or send back what they read.
        const change = pick([
          {},
          { name: `${name}x` },
          { name, deviceGroupIds: g, distributionListIds: l, lostReferences },
        ]);
        await scene.store.write((tx) => tx.update(m2mInputs, rule.id, change, scene.by));
        const areas = pick([
          {},
          { areaOfInterestIds: [] },
          { areaOfInterestIds: [areaId] },
          { areaOfInterestIds: ["gone"] },
        ]);
        const before = scene.sent().length;
        await scene.take(`S${round}`, areas);
        const sent = scene.sent().slice(before);
        if (sent.some((row) => [...row.deviceGroupIds, ...row.distributionListIds].some((each) => !named.has(each))))
          widened++;
        if (sent.some((row) => row.areaOfInterestIds.some((each) => each !== areaId))) widened++;
        const result = scene.listed().at(-1);
        if (sent.length === 0) {
          failed++;
          expect(result?.outcome).toBe("failed");
          expect(result?.reason).toContain("have been deleted, so it reaches no one");
        }
      }
    }
    expect(widened).toBe(0);
    expect(failed).toBeGreaterThan(10);
  });

  it("reaches the recipients of the template again once somebody says so", async () => {
    const messageTemplateId = await scene.template("Template");
    const group = await scene.group("G", []);
    const rule = await scene.create(m2mInputs, {
      ...{ name: "R", source: "S", messageTemplateId, deviceGroupIds: [group], throttlingInSecs: 0 },
    });
    await scene.store.write((tx) => tx.remove(deviceGroups, group, scene.by));
    expect(scene.store.get(m2mInputs, rule.id)).toMatchObject({ deviceGroupIds: [], lostReferences: 1 });
    await scene.store.write((tx) => tx.update(m2mInputs, rule.id, { lostReferences: 0 }, scene.by));
    await scene.take("S");
    expect(scene.listed().at(-1)?.outcome).toBe("started");
    // Other recipients end it as well.
    const other = await scene.group("H", []);
    await scene.store.write((tx) => tx.update(m2mInputs, rule.id, { lostReferences: 3 }, scene.by));
    await scene.store.write((tx) => tx.update(m2mInputs, rule.id, { deviceGroupIds: [other] }, scene.by));
    expect(scene.store.get(m2mInputs, rule.id)?.lostReferences).toBe(0);
  });

  it("with areas reaches those of the input only, also where none of them exists any more", async () => {
    const area = (
      await scene.create(areasOfInterest, {
        ...{ name: "Whole city", geometryType: "circle" },
        geometryValue: {
          type: "Feature",
          geometry: { type: "Point", coordinates: [11, 48] },
          properties: { radiusInM: 9 },
        },
      })
    ).id;
    const messageTemplateId = await scene.template("Areas", { areaOfInterestIds: [area] });
    await scene.create(m2mInputs, { name: "R", source: "S", messageTemplateId, throttlingInSecs: 0, useAreas: true });
    const areasOf = async (values: object): Promise<string[] | undefined> => {
      await scene.take("S", values as Record<string, unknown>);
      return scene.sent().at(-1)?.areaOfInterestIds;
    };
    expect(await areasOf({})).toEqual([area]);
    expect(await areasOf({ areaOfInterestIds: [] })).toEqual([]);
    expect(await areasOf({ areaOfInterestIds: ["0198f3a0-0000-7000-8000-0000000000ff"] })).toEqual([]);
  });

  it("that arrives at an appliance before its groups reaches no one there", async () => {
    const catalogue = createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS]));
    const types = readReplicatedTypes(catalogue);
    const random = createRandomSource(2).next;
    for (let round = 0; round < 100; round++) {
      const ids = Array.from(
        { length: 1 + Math.floor(random() * 4) },
        (_, at) => `0198f3a0-0000-7000-8000-00000000a${round % 10}0${at}`,
      );
      const known = ids.filter(() => random() < 0.5);
      const body = { deviceGroupIds: ids, distributionListIds: [], lostReferences: 0 };
      const looking = findMissingReferences({ type: "m2m-inputs", id: "r", body }, types);
      let step = looking.next();
      while (!step.done) {
        const { id } = step.value as { id?: string };
        step = looking.next((known.includes(String(id)) ? {} : null) as never);
      }
      const written = withoutReferences(body, step.value) as unknown as typeof body;
      expect(written.deviceGroupIds.every((id) => ids.includes(id))).toBe(true);
      const reach = ownRecipients(written);
      if (written.deviceGroupIds.length === 0) expect(reach).toBeNull();
      else expect(reach?.deviceGroupIds).toEqual(written.deviceGroupIds);
    }
  });

  it("of a follow-up never falls back to the recipients of a template", async () => {
    const list = await scene.list("Few", [await scene.user("Few")]);
    const first = await scene.send({ subject: "First", distributionListIds: [list] });
    const messageTemplateId = await scene.template("All");
    await scene.store.write((tx) => tx.remove(distributionLists, list, scene.by));
    await expect(
      scene.send({ messageTemplateId }, { sameRecipientsAs: [first.id], overrules: true, source: "web" } as never),
    ).rejects.toMatchObject({ faults: [expect.objectContaining({ type: "required" })] });
  });
});

it("a group whose base groups are deleted has no members by its filters", async () => {
  const scene = await openInputs();
  try {
    const random = createRandomSource(3).next;
    await scene.phone("P1");
    await scene.phone("P2");
    const [one, two] = scene.store.all<{ icop: string }>("SELECT icop_id AS icop FROM devices ORDER BY pk");
    const contained = (id: string): string[] => {
      const [group] = compileStoredGroups(scene.store, [id]);
      const lines = scene.store.all<{ icop: string }>("SELECT icop_id AS icop FROM devices ORDER BY pk");
      return lines.filter(({ icop }) => group?.contains({ ...DEVICE, icopId: icop } as never)).map(({ icop }) => icop);
    };
    let widened = 0;
    for (let round = 0; round < 20; round++) {
      const bases = [await scene.group(`B${round}`, [one?.icop ?? ""]), await scene.group(`C${round}`, [])];
      const named = bases.filter(() => random() < 0.8);
      const chosen = named.length > 0 ? named : bases;
      const filterType = random() < 0.5 ? "ACCEPT" : "OR";
      const filters = [
        { attribute: "type", comparison: "EQUALS", value: "phones", complement: false, caseSensitive: false },
      ];
      const group = (
        await scene.create(deviceGroups, { name: `F${round}`, filterType, filters, baseDeviceGroupIds: chosen })
      ).id;
      const before = new Set(contained(group));
      for (const id of [...chosen].sort(() => random() - 0.5)) {
        await scene.store.write((tx) => tx.remove(deviceGroups, id, scene.by));
        if (contained(group).some((icop) => !before.has(icop))) widened++;
      }
      expect(contained(group)).toEqual([]);
    }
    expect(widened).toBe(0);
    expect(two).toBeDefined();
  } finally {
    await scene.close();
  }
});

const DEVICE = { type: "phones", attributes: {}, description: "", deviceIdentifier: "P" };

it("an alarm action whose recipients are deleted reaches no one", async () => {
  const scene = await openAlarms();
  try {
    const wide = await scene.list("Everyone", [await scene.user("Wide")]);
    const template = await scene.create(messageTemplates, {
      ...{ name: "T", subject: "T", distributionListIds: [wide] },
    });
    const list = await scene.list("Duty", [await scene.user("Duty")]);
    const action = await scene.action("missed_bells", "ACTIVE", {
      ...{ messageTemplateId: template.id, distributionListIds: [list] },
    });
    await scene.store.write((tx) => tx.remove(distributionLists, list, scene.by));
    const row = scene.store.get(alarmActions, action);
    expect(row).toMatchObject({ distributionListIds: [], lostReferences: 1 });
    expect(ownRecipients(row ?? {})).toBeNull();
  } finally {
    await scene.close();
  }
});

it("a trigger whose lists and users are deleted is fired by no one", async () => {
  const scene = await openAreas();
  try {
    const [ann, lou] = [await scene.user("Ann"), await scene.user("Lou")];
    const field = await scene.area("Field", [11.5754, 48.1371], 500);
    const list = await scene.list("Runners", [ann]);
    const trigger = await scene.trigger(field, { action: "entered", distributionListIds: [list] });
    const device = await scene.device(lou);
    await scene.report(lou, device, [11.5754, 48.1371]);
    expect(scene.sent).toHaveLength(0);
    await scene.store.write((tx) => tx.remove(distributionLists, list, scene.by));
    expect(scene.store.get(boundaryTriggers, trigger)?.lostReferences).toBe(1);
    await scene.report(lou, device, [12, 49]);
    await scene.report(lou, device, [11.5754, 48.1371]);
    expect(scene.sent).toHaveLength(0);
  } finally {
    await scene.close();
  }
});

it("an alert whose shapes are lost or damaged is in no area that it did not name", () => {
  const random = createRandomSource(4).next;
  const [feed] = parseFeedConfigs([{ name: "W", url: "https://a.example/", onlyHere: true }]).feeds;
  if (!feed) throw new Error("the feed is not valid");
  const own = [
    { id: "here", name: "Here", latitude: 48.1371, longitude: 11.5754, radiusM: 400 },
    { id: "there", name: "There", latitude: 52.52, longitude: 13.4, radiusM: 400 },
  ];
  const polygon = "48.15,11.57 48.15,11.59 48.13,11.59 48.13,11.57 48.15,11.57";
  const damages: ((text: string) => string)[] = [
    () => "",
    (text) => text.slice(0, Math.floor(random() * 12)),
    (text) => text.replaceAll(",", random() < 0.5 ? ";" : ""),
    (text) => text.replace(/\d/g, "x"),
    (text) => text.replaceAll(".", ","),
    (text) => `${text} ${text.slice(0, 3)}`,
    (text) => text.replace("48.13", "NaN"),
    (text) => text.replace("48.13", "99999"),
    (text) => text.split(" ").slice(0, 2).join(" "),
    (text) => text.replaceAll(" ", "\n\n  "),
  ];
  let widened = 0;
  for (let round = 0; round < 2_000; round++) {
    const damage = damages[round % damages.length] as (text: string) => string;
    const severity = random() < 0.5 ? "Extreme" : "Severe";
    const area = { areaDesc: "A", polygons: [damage(polygon)], circles: [], geocodes: [] };
    const info = {
      ...{
        categories: [],
        event: "E",
        eventCodes: [],
        responseTypes: [],
        urgency: "Immediate",
        severity,
        certainty: "",
      },
      ...{ expiresAt: null, texts: {} as never, areas: [area] },
    };
    const alert = { identifier: "1", sender: "s", sent: "2026-01-12T08:00:00Z", status: "Actual", msgType: "Alert" };
    const received: ReceivedAlert = { ...alert, references: "", infos: [info], foreignInfos: [] };
    const assessed = assessInfos(received, feed, own, Date.parse("2026-01-12T08:01:00Z"));
    const passed = assessed.filter(({ rejection }) => rejection === null);
    const { areaOfInterestIds } = contentOf(passed, feed);
    if (areaOfInterestIds?.includes("there")) widened++;
    // The whole site only by policy.
    if (passed.length > 0 && areaOfInterestIds === null && severity !== "Extreme") widened++;
  }
  expect(widened).toBe(0);
});

it("an alert that is published for a damaged area is refused", () => {
  for (const properties of [
    { polygons: "48,11 48,12 49,12" },
    { polygons: "48,11 48,12 49,12 48,11;x" },
    { circles: "48,11" },
    { circles: "48,11 x" },
    { geocodes: "SAME" },
    { polygons: "148,11 48,12 49,12 148,11" },
  ])
    expect(parseCapArea(properties as Record<string, string>, "Everywhere")).toEqual(
      expect.stringContaining("must be"),
    );
});
