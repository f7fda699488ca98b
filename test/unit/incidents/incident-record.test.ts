import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { writeIncidentReportJson } from "../../../src/http/reports/incident-report-json.ts";
import { addIncidentActivity } from "../../../src/incidents/incident-activities.ts";
import { buildIncidentRecord } from "../../../src/incidents/incident-record.ts";
import {
  buildTimeline,
  incidentNotifications,
  TIMELINE_ACTIVITY_TYPES,
} from "../../../src/incidents/incident-timeline.ts";
import { createSentenceRegistry } from "../../../src/lib/sentences/registry.ts";
import { type SentenceLanguage, sentence } from "../../../src/lib/sentences/sentences.ts";
import confirmationRequests from "../../../src/resources/confirmations/confirmation-requests.ts";
import incidents from "../../../src/resources/incidents/incidents.ts";
import deliveries from "../../../src/resources/notifications/deliveries.ts";
import notificationActivities from "../../../src/resources/notifications/notification-activities.ts";
import notificationRecipients from "../../../src/resources/notifications/notification-recipients.ts";
import notifications from "../../../src/resources/notifications/notifications.ts";
import { machineZoneData } from "../../../src/time-zones/zone-data.ts";
import { renderIncidentReport } from "../../../src/web-pages/incident-report-page.ts";
import { type IncidentScene, openIncidents } from "./incidents-fixture.ts";

const HOSTILE = `<script>alert("1")</script> & 'x'`;
/** 2026-03-29 00:59:58 UTC: two seconds before Berlin's clocks go forward. */
const SENTENCES = createSentenceRegistry();
const inLanguage = (language: SentenceLanguage, timeZone: string) => ({
  ...{ timeZone, data: machineZoneData(), sentences: SENTENCES, language },
});
const BEGIN = Date.UTC(2026, 2, 29, 0, 59, 58);

let scene: IncidentScene;
beforeAll(async () => {
  scene = await openIncidents();
});
afterAll(() => scene.close());

const needs = () => ({ reader: scene.fixture.store, clock: { ...scene.fixture.clock, defer: setImmediate } as never });
const pieces = (id: string) => buildIncidentRecord(scene.incident(id), scene.fixture.by.scope, needs());

async function textOf(parts: AsyncIterable<string>): Promise<string> {
  let text = "";
  for await (const part of parts) text += part;
  return text;
}

/** An incident with a message to one phone and two people, of whom one answered. */
async function told() {
  const { store, by, user } = scene.fixture;
  const incident = await store.create(incidents, { name: HOSTILE, drill: true }, by, { createdAt: BEGIN });
  const request = await store.create(confirmationRequests, { name: "Safe?", options: ["Yes", "No"] }, by);
  const values = { subject: HOSTILE, body: "Leave\nnow.", confirmationRequestId: request.id, incidentId: incident.id };
  const system = { ...values, createdAt: BEGIN + 1_000, stage: "settled", drill: true };
  const message = await store.create(notifications, {}, by, system);
  const [ann, bob] = [await user("Ann"), await user("Bob")];
  const notificationId = message.id;
  const answered = { confirmationResponse: "Yes", confirmationResponseTimestamp: BEGIN + 4_000, read: true };
  await store.create(notificationRecipients, {}, by, { notificationId, userId: ann, name: "Ann", ...answered });
  await store.create(notificationRecipients, {}, by, { notificationId, userId: bob, name: "Bob" });
  const row = { notificationId, deviceIdentifier: "SEP1", name: "Hall", type: "phones", sentAt: BEGIN + 1_100 };
  const failed = { level: "failed", reason: "It refused our password.", endedAt: BEGIN + 1_500 } as const;
  await store.create(deliveries, {}, by, { ...row, ...failed });
  await store.create(deliveries, {}, by, { ...row, level: "playing", name: "Gym", playingAt: BEGIN + 2_500 });
  await store.write((tx) => {
    for (const [name, n] of [
      ["recipients", 2],
      ["readers", 1],
      ["answer:Yes", 1],
    ] as const) {
      tx.run("INSERT INTO notification_counters (notification, name, n) VALUES (?, ?, ?)", message.pk, name, n);
    }
  });
  await addIncidentActivity(incident, { type: "note", details: "Smoke" }, by, {
    store,
    notificationService: scene.air.notificationService,
  });
  return { incident, message };
}

describe("the record of an incident", () => {
  let incidentId: string;
  let messageId: string;
  beforeAll(async () => {
    const made = await told();
    incidentId = made.incident.id;
    messageId = made.message.id;
  });

  it("lists events in order, with devices and people in groups", async () => {
    const incident = scene.incident(incidentId);
    const found = await buildTimeline(
      incident,
      incidentNotifications(incident, scene.fixture.by.scope, scene.fixture.store),
      needs(),
    );
    const about = found.filter(({ kind }) => kind !== "step");
    expect(about.map(({ at, kind, what, count, names }) => [at - BEGIN, kind, what, count, names])).toEqual([
      [1_000, "message", "sent", 1, []],
      [1_100, "devices", "sent", 2, ["Hall", "Gym"]],
      [1_500, "devices", "failed", 1, ["Hall"]],
      [2_500, "devices", "playing", 1, ["Gym"]],
      [4_000, "answers", "Yes", 1, ["Ann"]],
    ]);
    expect(about.every(({ notificationId }) => notificationId === messageId)).toBe(true);
    const steps = found.filter(({ kind }) => kind === "step").map(({ what, words }) => [what, words]);
    expect(steps).toEqual([
      ["start-incident", null],
      ["note", "Smoke"],
    ]);
  });

  it("lists deliveries and answers as JSON", async () => {
    const record = JSON.parse(await textOf(writeIncidentReportJson(pieces(incidentId), "Europe/Berlin", SENTENCES)));
    expect(record).toMatchObject({
      incident: { id: incidentId, name: HOSTILE, drill: true, startedAt: new Date(BEGIN).toISOString(), endedAt: null },
      timeZone: "Europe/Berlin",
      total: { devices: { failed: 1, playing: 1 }, recipients: 2, readers: 1, answers: { Yes: 1 }, silent: 1 },
    });
    expect(record.messages).toHaveLength(1);
    expect(record.messages[0]).toMatchObject({ id: messageId, subject: HOSTILE, silent: 1 });
    expect(record.messages[0].deliveries).toMatchObject([
      { name: "Hall", level: "failed", reason: "It refused our password.", sentAt: "2026-03-29T00:59:59.100Z" },
      { name: "Gym", level: "playing", playingAt: "2026-03-29T01:00:00.500Z" },
    ]);
    expect(record.messages[0].people).toEqual([
      expect.objectContaining({ name: "Ann", answer: "Yes", answeredAt: "2026-03-29T01:00:02.000Z" }),
      expect.objectContaining({ name: "Bob", answer: null, answeredAt: null }),
    ]);
  });

  it("is a printable page with local times across a DST change and without scripts", async () => {
    const page = await textOf(renderIncidentReport(pieces(incidentId), inLanguage("en", "Europe/Berlin")));
    expect(page).not.toMatch(/<script|onload|javascript:|<img|<link|https?:/i);
    expect(page).toContain("&#60;script&#62;alert(&#34;1&#34;)&#60;/script&#62; &#38; &#39;x&#39;");
    expect(page).toContain('<p class="drill">DRILL</p>');
    expect(page).toContain("2026-03-29 01:59:59 GMT+1");
    expect(page).toContain("2026-03-29 03:00:00 GMT+2");
    expect(page).toContain("Not reached: It refused our password.");
    expect(page).toMatch(/Bob<\/td><td><\/td><td>no answer/);
    expect(page).toContain("@media print");
    const open = (name: string) => page.match(new RegExp(`<${name}[ >]`, "g"))?.length;
    for (const name of ["table", "tbody", "tr", "td", "h2", "html", "body"]) {
      expect(page.match(new RegExp(`</${name}>`, "g"))?.length, name).toBe(open(name));
    }
  });

  it("is in the language of its reader, with the sentences of the server", async () => {
    const { incident, message } = await told();
    const reason = sentence("delivery.no-answer");
    const notificationId = message.id;
    await scene.fixture.store.create(deliveries, {}, scene.fixture.by, {
      ...{ notificationId, name: "Gym", level: "failed", reason, endedAt: BEGIN + 1_600 },
    });
    const details = { message: sentence("activity.multicast-failed") };
    const entry = { notificationId, type: "info", details } as const;
    await scene.fixture.store.create(notificationActivities, entry, scene.fixture.by);
    const page = await textOf(renderIncidentReport(pieces(incident.id), inLanguage("de", "UTC")));
    expect(page).toContain('<html lang="de">');
    expect(page).toContain('<p class="drill">ÜBUNG</p>');
    expect(page).toContain(`Nicht erreicht: ${SENTENCES.translate(reason, "de")}`);
    expect(page).toContain(SENTENCES.translate(details.message, "de"));
    expect(page).toContain("Nicht erreicht: It refused our password.");
    expect(page).toMatch(/Bob<\/td><td><\/td><td>keine Antwort/);
  });

  it("describes steps and delivery results as text", async () => {
    const { incident, message } = await told();
    const needed = { store: scene.fixture.store, notificationService: scene.air.notificationService };
    const linked = { type: "escalated-incident-linked", details: "To the district" } as const;
    await addIncidentActivity(incident, linked, scene.fixture.by, needed);
    for (const type of TIMELINE_ACTIVITY_TYPES) {
      await scene.fixture.store.create(notificationActivities, { notificationId: message.id, type }, scene.fixture.by);
    }
    const page = await textOf(renderIncidentReport(pieces(incident.id), inLanguage("en", "UTC")));
    expect(page).toContain("<td>Linked</td><td></td><td>To the district</td>");
    for (const words of ["Message failed", "Message finished", "Escalation skipped", "Message expired", "Note"]) {
      expect(page).toContain(`<td>${words}</td>`);
    }
    expect(page).not.toMatch(/<td>[a-z]+(-[a-z]+)+<\/td>/);
  });

  it("has the same structure without notifications", async () => {
    const { id } = await scene.fixture.create(incidents, {});
    const record = JSON.parse(await textOf(writeIncidentReportJson(pieces(id), "UTC", SENTENCES)));
    expect(record).toMatchObject({
      incident: { name: "Incident" },
      messages: [],
      total: { devices: {}, recipients: 0 },
    });
    expect(await textOf(renderIncidentReport(pieces(id), inLanguage("en", "UTC")))).toMatch(
      /<\/tbody><\/table><\/body><\/html>$/,
    );
  });

  it("has lists for people only, devices only, or neither", async () => {
    const { store, by } = scene.fixture;
    const { id: incidentId } = await store.create(incidents, {}, by);
    for (const subject of ["nobody", "people", "devices"]) {
      const { id } = await store.create(notifications, { subject }, by, { incidentId, stage: "settled" });
      const values = { notificationId: id, name: "X" };
      if (subject === "people") await store.create(notificationRecipients, {}, by, values);
      if (subject === "devices") await store.create(deliveries, {}, by, values);
    }
    const { messages } = JSON.parse(await textOf(writeIncidentReportJson(pieces(incidentId), "UTC", SENTENCES)));
    const sizes = messages.map((each: Record<string, unknown[]>) => [each.deliveries?.length, each.people?.length]);
    expect(sizes).toEqual([
      [0, 0],
      [0, 1],
      [1, 0],
    ]);
  });
});

describe("a record of 10,000 devices and as many people", () => {
  it("does not block the event loop", async () => {
    const { store, by } = scene.fixture;
    const incident = await store.create(incidents, {}, by);
    const { pk, id } = await store.create(notifications, { subject: "x" }, by, {
      incidentId: incident.id,
      stage: "settled",
    });
    const at = store.get(notifications, id)?.createdAt ?? 0;
    for (let from = 0; from < 10_000; from += 1_000) await store.write((tx) => fill(tx, pk, at, from));
    const texts = [await textOf(renderIncidentReport(pieces(incident.id), inLanguage("en", "Europe/Berlin"))), ""];
    const stretches = await watched(async () => {
      texts[1] = await textOf(writeIncidentReportJson(pieces(incident.id), "Europe/Berlin", SENTENCES));
      await textOf(renderIncidentReport(pieces(incident.id), inLanguage("en", "Europe/Berlin")));
    });
    expect(texts[0]?.match(/<tr>/g)?.length).toBeGreaterThan(20_000);
    expect(JSON.parse(texts[1] ?? "").messages[0].deliveries).toHaveLength(10_000);
    expect(stretches.length).toBeGreaterThan(200);
    // Processor time, so that a busy machine does not count; one in a hundred may meet the garbage collector.
    expect(stretches.sort((a, b) => a - b)[Math.floor(stretches.length * 0.99)]).toBeLessThan(20);
  }, 120_000);
});

type Tx = Parameters<Parameters<IncidentScene["fixture"]["store"]["write"]>[0]>[0];

function fill(tx: Tx, pk: number, at: number, from: number): void {
  const numbers = `WITH RECURSIVE n(i) AS (SELECT ${from + 1} UNION ALL SELECT i + 1 FROM n WHERE i < ${from + 1_000})`;
  tx.run(
    `INSERT INTO deliveries (id, created_at, updated_at, notification_pk, name, device_identifier, type, level, sent_at, accepted_at, playing_at)
     ${numbers} SELECT uuid7(), ?, ?, ?, 'Room ' || i, 'SEP' || i, 'phones', 'playing', ? + i % 700, ? + i, ? + 2 * i FROM n`,
    at,
    at,
    pk,
    at,
    at,
    at,
  );
  tx.run(
    `INSERT INTO notification_recipients (id, created_at, updated_at, notification_pk, name, email, type, read,
       confirmation_response, confirmation_response_timestamp)
     ${numbers} SELECT uuid7(), ?, ?, ?, 'User ' || i, i || '@example.org', 'regular', 1, 'Yes', ? + 100 * i FROM n`,
    at,
    at,
    pk,
    at,
  );
}

/** Processor time of this thread alone, where Node can tell it: the collector and the compiler work beside it. */
const cpuUsage: typeof process.cpuUsage = process.threadCpuUsage ?? process.cpuUsage;

/** Ms of processor time of each iteration of the event loop while `run` runs. */
async function watched(run: () => Promise<void>): Promise<number[]> {
  const stretches: number[] = [];
  let over = false;
  let last = cpuUsage();
  const look = (): void => {
    const { user, system } = cpuUsage(last);
    stretches.push((user + system) / 1_000);
    last = cpuUsage();
    if (!over) setImmediate(look);
  };
  setImmediate(look);
  await run();
  over = true;
  return stretches;
}
