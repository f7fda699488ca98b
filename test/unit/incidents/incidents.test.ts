import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { addIncidentActivity, setIncidentSite } from "../../../src/incidents/incident-activities.ts";
import { startIncident } from "../../../src/incidents/incident-start.ts";
import { offeredTemplates } from "../../../src/incidents/offered-templates.ts";
import incidentActivities from "../../../src/resources/incidents/incident-activities.ts";
import incidentPlanResources from "../../../src/resources/incidents/incident-plan-resources.ts";
import incidentPlans from "../../../src/resources/incidents/incident-plans.ts";
import incidentResources from "../../../src/resources/incidents/incident-resources.ts";
import incidents from "../../../src/resources/incidents/incidents.ts";
import messageTemplates from "../../../src/resources/messages/message-templates.ts";
import notifications from "../../../src/resources/notifications/notifications.ts";
import sites from "../../../src/resources/places/sites.ts";
import { type IncidentScene, openIncidents } from "./incidents-fixture.ts";

let scene: IncidentScene;
beforeEach(async () => {
  scene = await openIncidents();
});
afterEach(() => scene.close());

const store = () => scene.fixture.store;
const message = (id: string) => store().get(notifications, id);
const stepsOf = (incidentId: string) => store().find(incidentActivities, { incidentId });
const step = (incidentId: string, input: object) =>
  addIncidentActivity(scene.incident(incidentId), { ...input }, scene.fixture.by, {
    store: store(),
    notificationService: scene.air.notificationService,
  });
/** Starts one by hand. */
const start = async (input: object = {}) => (await scene.fixture.create(incidents, input)).id;
const JOINS = { allowMultipleActiveIncidents: false };

describe("an incident", () => {
  it("is started by a message whose plan says so, in the message's own transaction", async () => {
    const planId = await scene.plan();
    const id = await scene.send({ incidentPlanId: planId });
    const incident = scene.incident(message(id)?.incidentId);
    expect(incident).toMatchObject({
      name: "Fire",
      incidentPlanId: planId,
      notificationId: id,
      drill: false,
      endedAt: null,
    });
    expect(stepsOf(incident.id)).toMatchObject([{ type: "start-incident", notificationId: id }]);
  });

  it("is started by the plan of a template", async () => {
    const incidentPlanId = await scene.plan();
    const deviceGroupIds = [scene.north];
    const input = { name: "T", subject: "Fire", incidentPlanId, deviceGroupIds };
    const template = await scene.fixture.create(messageTemplates, input);
    const { id } = await scene.fixture.send({ messageTemplateId: template.id });
    expect(scene.incident(message(id)?.incidentId)).toMatchObject({ messageTemplateId: template.id, incidentPlanId });
  });

  it("is not started by a preview", async () => {
    await scene.fixture.send({
      subject: "x",
      deviceGroupIds: [scene.north],
      incidentPlanId: await scene.plan(),
      draft: true,
    });
    expect(store().count(incidents, {})).toBe(0);
  });

  it("begins anew with each message, unless the plan allows one at a time", async () => {
    const many = await scene.plan();
    const one = await scene.plan(JOINS);
    for (const incidentPlanId of [many, many, one, one]) await scene.send({ incidentPlanId });
    expect(store().count(incidents, { incidentPlanId: many })).toBe(2);
    expect(store().count(incidents, { incidentPlanId: one })).toBe(1);
    const [only] = store().find(incidents, { incidentPlanId: one });
    expect(store().count(notifications, { incidentId: only?.id ?? "" })).toBe(2);
    await expect(start({ incidentPlanId: one })).rejects.toMatchObject({ type: "conflict", field: "incidentPlanId" });
    await step(only?.id ?? "", { type: "end-incident" });
    await expect(start({ incidentPlanId: one })).resolves.toBeTruthy();
  });

  it("keeps drills and live ones apart", async () => {
    const incidentPlanId = await scene.plan(JOINS);
    const drill = message(await scene.send({ incidentPlanId, drill: true }));
    const live = message(await scene.send({ incidentPlanId }));
    expect(scene.incident(drill?.incidentId).drill).toBe(true);
    expect(scene.incident(live?.incidentId).drill).toBe(false);
  });

  it("is started for a scenario, whose place it has", async () => {
    const planId = await scene.plan();
    const { id: siteId } = await scene.fixture.create(sites, { name: "North" });
    const given = { planId, drill: true, name: "Lockdown", location: { siteId } };
    const row = await store().write((tx) => startIncident(tx, given, scene.fixture.by));
    expect(row).toMatchObject({ name: "Lockdown", drill: true, siteId, incidentPlanId: planId });
    await store().remove(incidentPlans, planId, scene.fixture.by);
    expect(await store().write((tx) => startIncident(tx, given, scene.fixture.by))).toBeNull();
  });

  it("brings the files of its plan, which stay when the plan changes", async () => {
    const incidentPlanId = await scene.plan();
    const link = { incidentPlanId, name: "Map", type: "hyperlink", hyperlink: "https://example.org/map" };
    const file = await scene.fixture.recording(10);
    await scene.fixture.create(incidentPlanResources, link);
    await scene.fixture.create(incidentPlanResources, { incidentPlanId, name: "Siren", type: "file", file });
    const incidentId = await start({ incidentPlanId });
    await store().remove(incidentPlans, incidentPlanId, scene.fixture.by);
    expect(store().find(incidentResources, { incidentId })).toMatchObject([
      { name: "Map", hyperlink: "https://example.org/map" },
      { name: "Siren", file: { sha256: file.file.sha256, fileName: "a.wav" } },
    ]);
  });

  it.each([
    ["hyperlink", "hyperlink"],
    ["file", "file"],
  ])("takes no %s without its content", async (type, field) => {
    const incidentId = await start();
    await expect(scene.fixture.create(incidentResources, { incidentId, name: "x", type })).rejects.toMatchObject({
      faults: [{ field, type: "required" }],
    });
  });

  it("offers follow-ups once something was sent", async () => {
    const one = await scene.fixture.create(messageTemplates, { name: "1", subject: "a" });
    const two = await scene.fixture.create(messageTemplates, { name: "2", subject: "b", followUp: true });
    const id = await start({ incidentPlanId: await scene.plan({ messageTemplateIds: [one.id, two.id] }) });
    expect(offeredTemplates(store(), scene.incident(id))).toEqual([one.id]);
    await scene.send({ incidentId: id });
    expect(offeredTemplates(store(), scene.incident(id))).toEqual([one.id, two.id]);
    expect(offeredTemplates(store(), scene.incident(await start()))).toEqual([]);
  });

  it("moves to another site, whose parts are not known", async () => {
    const [a, b] = await Promise.all(["A", "B"].map((name) => scene.fixture.create(sites, { name })));
    const id = await start();
    const moved = await setIncidentSite(scene.incident(id), a?.id, scene.fixture.by, store());
    expect(moved.siteId).toBe(a?.id);
    expect((await setIncidentSite(moved, b?.id, scene.fixture.by, store())).siteId).toBe(b?.id);
    for (const wrong of ["x", 1, "0190a6f0-0000-7000-8000-000000000000"]) {
      await expect(setIncidentSite(moved, wrong, scene.fixture.by, store())).rejects.toMatchObject({
        type: "invalid-value",
      });
    }
    await expect(setIncidentSite(moved, null, scene.fixture.by, store())).rejects.toMatchObject({ type: "required" });
  });
});

describe("what is sent within an incident", () => {
  it("belongs to it, and is a drill where that is one", async () => {
    const live = await start();
    const drill = await start({ drill: true });
    expect(message(await scene.send({ incidentId: live }))).toMatchObject({ incidentId: live, drill: false });
    const sent = await scene.send({ incidentId: drill });
    expect(message(sent)).toMatchObject({ incidentId: drill, drill: true });
    const next = await scene.send({ followUpForNotificationId: sent });
    expect(message(next)).toMatchObject({ incidentId: drill, drill: true, parentNotificationId: sent });
    await expect(scene.send({ incidentId: drill, drill: false })).rejects.toMatchObject({
      faults: [{ field: "drill" }],
    });
    await expect(scene.send({ incidentId: live, followUpForNotificationId: sent })).rejects.toMatchObject({
      faults: [{ field: "incidentId" }],
    });
    await expect(scene.send({ incidentId: sent })).rejects.toMatchObject({ faults: [{ field: "incidentId" }] });
  });

  it("starts no second incident", async () => {
    const incidentId = await start();
    await scene.send({ incidentId, incidentPlanId: await scene.plan() });
    expect(store().count(incidents, {})).toBe(1);
  });

  it("is refused once the incident has ended", async () => {
    const incidentId = await start();
    await step(incidentId, { type: "end-incident" });
    await expect(scene.send({ incidentId })).rejects.toMatchObject({ type: "conflict", field: "incidentId" });
  });
});

describe("the steps of an incident", () => {
  it("are noted with who took them", async () => {
    const id = await start();
    const by = { ...scene.fixture.by, actor: { ...scene.fixture.by.actor, userId: await scene.fixture.user("Ann") } };
    const needs = { store: store(), notificationService: scene.air.notificationService };
    const noted = await addIncidentActivity(
      scene.incident(id),
      { type: "note", details: { detail: "Door open" } },
      by,
      needs,
    );
    expect(noted).toMatchObject({ type: "note", userId: by.actor.userId, details: { detail: "Door open" } });
    await expect(step(id, { type: "start-incident" })).rejects.toMatchObject({ faults: [{ field: "type" }] });
    await expect(step(id, { type: "dance" })).rejects.toMatchObject({ faults: [{ field: "type" }] });
  });

  it("end it once, also when two do it at a time", async () => {
    const id = await start();
    await scene.fixture.clock.advance(5_000);
    const both = await Promise.allSettled([step(id, { type: "end-incident" }), step(id, { type: "end-incident" })]);
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(scene.incident(id).endedAt).toBe(scene.fixture.clock.now());
    expect(stepsOf(id).map(({ type }) => type)).toEqual(["start-incident", "end-incident"]);
    await expect(step(id, { type: "note" })).resolves.toMatchObject({ type: "note" });
  });
});

describe("the all-clear of an incident", () => {
  it("goes to everybody whom its messages were for, and ends what goes on", async () => {
    const id = await start({ name: "Fire in B", drill: true });
    const first = await scene.send({ incidentId: id });
    await scene.air.untilSettled(first);
    const second = await scene.send({ incidentId: id, deviceGroupIds: [scene.south], priority: "critical" });
    const clear = await step(id, { type: "all-clear", details: { body: "Go home." } });
    const sent = message(clear.notificationId ?? "");
    expect(sent).toMatchObject({
      subject: "All clear: Fire in B",
      body: "Go home.",
      alertTone: "all-clear1",
      priority: "critical",
      notificationSource: "incident",
      incidentId: id,
      drill: true,
    });
    expect([...(sent?.deviceGroupIds ?? [])].sort()).toEqual([scene.north, scene.south].sort());
    expect(message(second)?.abortedAt).not.toBeNull();
    expect(message(first)?.abortedAt).toBeNull();
    await scene.air.untilSettled(clear.notificationId ?? "");
    expect(scene.air.ledger(clear.notificationId ?? "")).toEqual({
      SEP001122334401: "playing",
      SEP001122334402: "playing",
    });
    expect(scene.incident(id).endedAt).toBeNull();
  });

  it("is said in the words that were made ready with the emergency, unless the sender says it in others", async () => {
    const id = await start({ name: "Lockdown" });
    const ready = { allClearSubject: "Doors open", allClearBody: "Go on as usual." };
    await scene.send({ incidentId: id });
    await scene.send({ incidentId: id, priority: "critical", ...ready });
    const words = async (details: object) => {
      const { notificationId } = await step(id, { type: "all-clear", details: { ...details, again: true } });
      return message(notificationId ?? "");
    };
    expect(await words({})).toMatchObject({ subject: "Doors open", body: "Go on as usual." });
    expect(await words({ subject: "It is over" })).toMatchObject({ subject: "It is over", body: "Go on as usual." });
    const wanting = { subject: "All clear: Lockdown", body: "It is over.", ifNoneReady: true };
    expect(await words(wanting)).toMatchObject({ subject: "Doors open", body: "Go on as usual." });
    const other = await start({ name: "Storm" });
    await scene.send({ incidentId: other });
    const { notificationId } = await step(other, { type: "all-clear", details: wanting });
    expect(message(notificationId ?? "")).toMatchObject({ subject: "All clear: Lockdown", body: "It is over." });
  });

  it("is not sent where nothing was sent, or in words that are none", async () => {
    const id = await start();
    await expect(step(id, { type: "all-clear" })).rejects.toMatchObject({ type: "conflict" });
    await scene.send({ incidentId: id });
    const wrong = step(id, { type: "all-clear", details: { subject: 1 } });
    await expect(wrong).rejects.toMatchObject({ faults: [{ field: "details" }] });
    expect(stepsOf(id)).toHaveLength(1);
  });
});
