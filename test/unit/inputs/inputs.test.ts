import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { CallerError } from "../../../src/lib/errors.ts";
import areasOfInterest from "../../../src/resources/areas/areas-of-interest.ts";
import endpoints from "../../../src/resources/devices/endpoints.ts";
import { ONPREM_EXTENSION_ID } from "../../../src/resources/devices/on-premises-extension.ts";
import activeCallawareCalls from "../../../src/resources/inputs/active-callaware-calls.ts";
import callAwareCallRedirects from "../../../src/resources/inputs/call-aware-call-redirects.ts";
import callAwareRoutingRequests from "../../../src/resources/inputs/call-aware-routing-requests.ts";
import dialcastDialingConfigurations from "../../../src/resources/inputs/dialcast-dialing-configurations.ts";
import m2mInputs from "../../../src/resources/inputs/m2m-inputs.ts";
import nightBells from "../../../src/resources/inputs/night-bells.ts";
import apiDevices from "../../../src/resources/places/api-devices.ts";
import buildings from "../../../src/resources/places/buildings.ts";
import floors from "../../../src/resources/places/floors.ts";
import sites from "../../../src/resources/places/sites.ts";
import zones from "../../../src/resources/places/zones.ts";
import scenarios from "../../../src/resources/scenarios/scenarios.ts";
import type { AnyResource } from "../../../src/schema/resource.ts";
import { type InputsFixture, openInputs } from "./inputs-fixture.ts";

const DAY_MS = 86_400_000;

let room: InputsFixture;
let template: string;
beforeEach(async () => {
  room = await openInputs();
  template = await room.template("{{source}} is {{state}}");
});
afterEach(() => room.close());

/** Subjects of what was sent so far. */
const subjects = (): (string | null)[] => room.sent().map(({ subject }) => subject);
const outcomes = (): unknown[] => room.listed().map(({ outcome }) => outcome);
const door = (more: object = {}): Promise<{ id: string }> =>
  room.create(m2mInputs, { name: "Door", source: "Door 1", messageTemplateId: template, ...more });

describe("an input", () => {
  it("sends the notification of the rule for its source and state", async () => {
    const rule = await door({ state: "Closed" });
    await room.take("door 1", { state: "closed", floor: 2, deep: { a: 1 } });
    await room.take("Door 1", { state: "open" });
    await room.take("Door 2", { state: "closed" });
    expect(room.sent()).toMatchObject([
      {
        subject: "door 1 is closed",
        notificationSource: "m2m",
        initiationSourceType: "m2m-inputs",
        initiationSourceId: rule.id,
        initiationSourceDescription: "Door (door 1)",
      },
    ]);
    expect(room.listed()).toMatchObject([
      { plugin: "p", outcome: "started", notificationId: room.sent()[0]?.id, details: { floor: 2 } },
      { outcome: "nothing", notificationId: null },
      { outcome: "nothing" },
    ]);
  });

  it("is accepted once a day per key of its plugin, and rejected if invalid", async () => {
    await door({ throttlingInSecs: 0 });
    await room.take("Door 1", {}, { key: "a" });
    await room.take("Door 1", {}, { key: "a" });
    await room.inputs.enqueue("q", { source: "Door 1", dedupeKey: "a", values: {} });
    await room.settle();
    expect(subjects()).toHaveLength(2);
    await room.clock.advance(DAY_MS + 1);
    await room.take("Door 1", {}, { key: "a" });
    expect(subjects()).toHaveLength(3);
    const call = { callId: "1", state: "ringing", calledNumber: "1" };
    for (const [wrong, words] of [
      [{ source: "", dedupeKey: "b", values: {} }, "source and dedupeKey"],
      [{ source: "a", dedupeKey: "b", values: [] }, "values must be an object"],
      [{ source: "a", dedupeKey: "b", values: { a: "x".repeat(65_536) } }, "must not exceed 65536"],
      [{ source: "a", dedupeKey: "b", values: {}, call: { ...call, callId: "" } }, "call.callId"],
      [{ source: "a", dedupeKey: "b", values: {}, call: { ...call, state: "held" } }, "call.state"],
      [{ source: "a", dedupeKey: "b", values: {}, call: { ...call, via: "mail" } }, "call.via"],
      [{ source: "a", dedupeKey: "b", values: {}, call: { ...call, calledNumber: "1".repeat(51) } }, "calledNumber"],
    ] as const)
      await expect(room.inputs.enqueue("p", wrong)).rejects.toThrow(words);
    expect(room.listed()).toHaveLength(3);
  });

  it("is stored before the response, waits for the start, and sends its notification once", async () => {
    await door({ throttlingInSecs: 0 });
    await room.restart(async () => {
      const stored = room.inputs.enqueue("p", { source: "Door 1", dedupeKey: "a", values: {} });
      await stored;
      expect(outcomes()).toEqual(["waiting"]);
      expect(subjects()).toEqual([]);
    });
    expect(outcomes()).toEqual(["started"]);
    expect(subjects()).toHaveLength(1);
    // A crash after the message and before what became of the input was written.
    await room.restart(async () => {
      await room.store.write((tx) => void tx.run("UPDATE inputs SET outcome = 'waiting', notification_id = NULL"));
    });
    expect(subjects()).toHaveLength(1);
    expect(room.listed()).toMatchObject([{ outcome: "started", notificationId: room.sent()[0]?.id }]);
  });

  it("is not processed an hour later, and purged after a week (retention)", async () => {
    await door();
    await room.restart(async () => {
      await room.inputs.enqueue("p", { source: "Door 1", dedupeKey: "a", values: {} });
      await room.clock.advance(3_600_001);
    });
    expect([outcomes(), subjects()]).toEqual([["late"], []]);
    await room.clock.advance(8 * DAY_MS);
    await room.turns();
    expect(room.listed()).toEqual([]);
  });

  it("is throttled: contacts bounce", async () => {
    const { id } = await door({ throttlingInSecs: 5 });
    await room.take("Door 1");
    await room.clock.advance(4_999);
    await room.take("Door 1");
    await room.clock.advance(1);
    await room.take("Door 1");
    expect(outcomes()).toEqual(["started", "throttled", "started"]);
    expect(subjects()).toHaveLength(2);
    await room.store.remove(m2mInputs, id, room.by);
    expect(room.store.all("SELECT * FROM input_rule_starts")).toEqual([]);
  });

  it("starts drills when marked as a drill, without throttling real inputs", async () => {
    await door({ throttlingInSecs: 5 });
    await room.take("Door 1", {}, { drill: true });
    await room.take("Door 1");
    await room.take("Door 1");
    expect(outcomes()).toEqual(["started", "started", "throttled"]);
    expect(room.sent().map(({ drill }) => drill)).toEqual([true, false]);
    expect(room.listed().map(({ drill }) => drill)).toEqual([true, false, false]);
    await expect(room.take("Door 1", {}, { drill: "yes" as unknown as boolean })).rejects.toThrow(
      "drill must be true or",
    );
  });

  it("runs all its rules although one fails, and records the reason", async () => {
    await door({ messageTemplateId: await room.template("Nobody", { distributionListIds: [] }) });
    await door({ notificationSource: "panic-button", deviceGroupIds: [await room.group("Hall", [])] });
    await door({ enabled: false });
    await room.take("Door 1");
    expect(room.sent()).toMatchObject([{ notificationSource: "panic-button", distributionListIds: [] }]);
    expect(room.listed()).toMatchObject([
      { outcome: "started", reason: expect.stringContaining("must have recipients") },
    ]);
  });

  it("addresses the existing areas that it names if its rule allows it", async () => {
    const geometry = { type: "Point", coordinates: [11.5754, 48.1371] };
    const geometryValue = { type: "Feature", geometry, properties: { radiusInM: 400 } };
    const { id } = await room.create(areasOfInterest, { name: "Campus", geometryType: "circle", geometryValue });
    await door({ source: "Weather", notificationSource: "inbound-cap", useAreas: true });
    await door({ source: "Weather" });
    await room.take("Weather", { areaOfInterestIds: [id, "0198f3a0-0000-7000-8000-00000000dead", 7] });
    await room.take("Weather", { areaOfInterestIds: "all" });
    expect(room.sent().map((row) => [row.notificationSource, row.areaOfInterestIds])).toEqual([
      ["inbound-cap", [id]],
      ["m2m", []],
    ]);
  });

  it("is retried after an error of the appliance without blocking others", async () => {
    await door({ throttlingInSecs: 0 });
    room.refuses.messages = new RangeError("the disk is away");
    await room.inputs.enqueue("p", { source: "Door 1", dedupeKey: "a", values: {} });
    await room.inputs.enqueue("p", { source: "Window", dedupeKey: "b", values: {} });
    await room.turns();
    expect(outcomes()).toEqual(["waiting", "nothing"]);
    room.refuses.messages = null;
    await room.clock.advance(5_000);
    await room.settle();
    expect(outcomes()).toEqual(["started", "nothing"]);
  });

  it("starts a scenario at the location of its source, or sends the notification if that fails", async () => {
    const messages = [{ id: "5c1e2a34-4f89-41d3-9a0c-0305e82c3302", name: "First", messageTemplateId: template }];
    const scenario = { name: "Fire", type: "standard", backgroundColor: "#ff0000", messages };
    const { id: scenarioId } = await room.create(scenarios, scenario);
    await door({ scenarioId, throttlingInSecs: 0 });
    await room.take("Door 1");
    const { id: siteId } = await room.create(sites, { name: "North" });
    const { id: buildingId } = await room.create(buildings, { name: "Main", siteId });
    const { id: floorId } = await room.create(floors, { name: "First", siteId, buildingId });
    const { id: zoneId } = await room.create(zones, { name: "Hall", siteId, buildingId, floorId });
    await room.create(apiDevices, { name: "Door", externalId: "DOOR 1", siteId, buildingId, floorId, zoneId });
    await room.take("Door 1");
    expect(room.scenariosStarted).toEqual([
      { scenarioId },
      { scenarioId, initiationDevice: { type: "api-device", lookupValue: "DOOR 1" } },
    ]);
    expect(subjects()).toEqual([]);
    room.refuses.scenarios = new CallerError("invalid-value", "There is nobody there.");
    await room.take("Door 1");
    expect(subjects()).toHaveLength(1);
    expect(room.listed()[2]).toMatchObject({ outcome: "started", reason: null });
  });
});

describe("a call", () => {
  it("sends the notifications of its number when redirected, and is listed while active", async () => {
    const saying = await room.template("{{callingNumber}} calls {{calledNumber}}");
    const rule = { name: "Emergency", messageTemplateId: saying, numberPattern: "9?911" };
    const { id } = await room.create(callAwareCallRedirects, rule);
    await room.create(callAwareRoutingRequests, { ...rule, numberPattern: "[0-9]+" });
    await room.call("ringing", "9911", { callingNumber: "2214", via: "redirect" });
    await room.call("ringing", "5559911", { callId: "c2", via: "redirect" });
    expect(room.sent()).toMatchObject([{ subject: "2214 calls 9911", notificationSource: "ca-redirect" }]);
    const listed = () => room.store.find(activeCallawareCalls, {});
    expect(listed()).toMatchObject([
      {
        type: "endpoint-rule",
        endpointId: room.endpointId,
        details: { calledNumber: "9911", callingNumber: "2214", state: "ringing", rules: [{ id, name: "Emergency" }] },
      },
    ]);
    await room.call("answered", "9911", { via: "redirect" });
    expect(listed()).toMatchObject([{ details: { state: "answered", callingNumber: "2214" } }]);
    await room.call("ended", "9911", { via: "redirect" });
    expect(listed()).toEqual([]);
    expect(outcomes()).toEqual(["started", "nothing", "followed", "followed"]);
  });

  it("uses routing requests of this appliance only", async () => {
    const rule = { name: "Any", messageTemplateId: template, numberPattern: "[0-9]+" };
    const { id: elsewhere } = await room.store.create(
      endpoints,
      { extensionId: ONPREM_EXTENSION_ID, name: "There" },
      room.by,
    );
    await room.create(callAwareRoutingRequests, { ...rule, endpointId: elsewhere });
    await room.call("ringing", "1", { via: "routing-request" });
    await room.create(callAwareRoutingRequests, { ...rule, endpointId: room.endpointId });
    await room.call("ringing", "2", { callId: "c2", via: "routing-request" });
    expect(room.sent()).toMatchObject([{ notificationSource: "ca-routing-request" }]);
    expect(room.store.find(activeCallawareCalls, {})).toMatchObject([{ type: "callaware-rule" }]);
    // A call whose end nobody tells.
    await room.clock.advance(5 * 3_600_000);
    await room.turns();
    expect(room.store.find(activeCallawareCalls, {})).toEqual([]);
  });

  it("rings a night bell until it is answered or expires", async () => {
    const bell = { name: "Gate", number: "7000", messageTemplateId: template, timeout: 45, pause: 3 };
    await room.create(nightBells, { ...bell, deviceGroupIds: [await room.group("Yard", [])] });
    await room.call("ringing", "7000");
    const [ring] = room.sent();
    expect(ring).toMatchObject({
      notificationSource: "night-bell",
      expiration: 45,
      extensionSettingsOverrides: { [ONPREM_EXTENSION_ID]: { repeatIndefinitely: true, repetitionPause: 3 } },
      distributionListIds: [],
    });
    await room.call("answered", "7000");
    await room.call("ended", "7000");
    expect(room.aborted).toEqual([ring?.id]);
    expect(room.store.find(activeCallawareCalls, {})).toEqual([]);
  });

  it("does not ring a night bell that has already ended", async () => {
    await room.create(nightBells, { name: "Gate", number: "7000", messageTemplateId: template });
    await room.restart(async () => {
      for (const state of ["ringing", "ended"] as const)
        await room.inputs.enqueue("p", {
          ...{ source: "Trunk", dedupeKey: state, values: {} },
          call: { callId: "c1", state, calledNumber: "7000" },
        });
    });
    expect([outcomes(), room.sent()]).toEqual([["late", "followed"], []]);
  });

  it("resolves template and recipients from dialled digits if the PIN is correct", async () => {
    await room.template("Room 12 is flooded", { name: "Page 7" });
    const hall = await room.group("Hall 12", []);
    await room.create(dialcastDialingConfigurations, {
      ...{ name: "Pages", type: "NOTIFICATION", dialingPatternRegex: String.raw`\*(\d)(\d\d)` },
      ...{ messageTemplateNamePattern: "Page $1", recipientNamePattern: "Hall $2", pin: "4711" },
      messageTemplateId: template,
    });
    await room.call("ringing", "*712", { callId: "1" });
    await room.call("ringing", "*712", { callId: "2", pin: "0815" });
    await room.call("ringing", "*799", { callId: "3", pin: "4711" });
    await room.call("ringing", "*712", { callId: "4", pin: "4711" });
    await room.call("ringing", "*812", { callId: "5", pin: "4711" });
    expect(room.sent()).toMatchObject([
      {
        subject: "Room 12 is flooded",
        notificationSource: "dial-cast",
        deviceGroupIds: [hall],
        distributionListIds: [],
      },
      { subject: "Trunk is", messageTemplateId: template, deviceGroupIds: [hall] },
    ]);
    expect(room.listed().map(({ reason }) => reason)).toEqual([
      "The PIN entered does not match.",
      "The PIN entered does not match.",
      expect.stringContaining("dialled name was found"),
      null,
      null,
    ]);
    expect(JSON.stringify(room.store.all("SELECT * FROM inputs"))).not.toMatch(/4711|0815/);
  });

  it("yields to the event loop while matching hundreds of patterns", async () => {
    const soon = vi.spyOn(room.clock, "defer");
    const rule = { name: "One", messageTemplateId: template, numberPattern: "14.00" };
    await room.create(callAwareCallRedirects, rule);
    soon.mockClear();
    await room.call("ringing", "14000", { callId: "c0", via: "redirect" });
    const otherwise = soon.mock.calls.length;
    await room.store.write((tx) => {
      for (let at = 0; at < 400; at++) {
        tx.create(callAwareCallRedirects, { ...rule, numberPattern: `1${at}.` }, room.by);
      }
    });
    soon.mockClear();
    await room.call("ringing", "14000", { via: "redirect" });
    expect(subjects()).toHaveLength(2);
    expect(soon.mock.calls.length - otherwise).toBe(2);
  });
});

it("rejects rules with invalid patterns, without content and with an invalid PIN", async () => {
  const dialing = { type: "NOTIFICATION", dialingPatternRegex: "1" };
  const wrong: [AnyResource, object, string][] = [
    [callAwareCallRedirects, { numberPattern: "(" }, "numberPattern"],
    [callAwareRoutingRequests, { numberPattern: "((a{50}){50}){50}" }, "numberPattern"],
    [callAwareRoutingRequests, { numberPattern: "[a-z]{900}" }, "numberPattern"],
    [callAwareRoutingRequests, { numberPattern: String.raw`\p{L}+` }, "numberPattern"],
    [dialcastDialingConfigurations, { ...dialing, dialingPatternRegex: "[" }, "dialingPatternRegex"],
    [dialcastDialingConfigurations, { ...dialing, pin: "12a4" }, "pin"],
    [dialcastDialingConfigurations, { ...dialing, type: "ACTIONS_WITH_FALLBACK_NOTIFICATION" }, "scenarioIds"],
  ];
  for (const [resource, given, field] of wrong) {
    const input = { name: "A", messageTemplateId: template, ...given };
    await expect(room.create(resource, input)).rejects.toMatchObject({ faults: [{ field }] });
    expect(room.store.count(resource, {})).toBe(0);
  }
});
