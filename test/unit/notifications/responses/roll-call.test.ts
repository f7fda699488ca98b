import { afterAll, beforeAll, expect, it } from "vitest";
import type { Clock } from "../../../../src/lib/clock.ts";
import { createSentenceRegistry } from "../../../../src/lib/sentences/registry.ts";
import { recordAnswer } from "../../../../src/notifications/responses/answers.ts";
import { devicesByRoom, rollCall } from "../../../../src/notifications/responses/roll-call.ts";
import confirmationRequests from "../../../../src/resources/confirmations/confirmation-requests.ts";
import buildings from "../../../../src/resources/places/buildings.ts";
import floors from "../../../../src/resources/places/floors.ts";
import sites from "../../../../src/resources/places/sites.ts";
import zones from "../../../../src/resources/places/zones.ts";
import { type BroadcastFixture, openBroadcasts } from "../notification-fixture.ts";

let fixture: BroadcastFixture;
const rooms: Record<string, string> = {};

beforeAll(async () => {
  fixture = await openBroadcasts();
  const siteId = (await fixture.create(sites, { name: "North" })).id;
  const buildingId = (await fixture.create(buildings, { siteId, name: "A" })).id;
  for (const floor of ["1", "2"]) {
    const floorId = (await fixture.create(floors, { siteId, buildingId, name: floor })).id;
    for (const name of [`${floor}01`, "Hall"]) {
      rooms[`${floor} ${name}`] = (await fixture.create(zones, { siteId, buildingId, floorId, name })).id;
    }
  }
});
afterAll(() => fixture.close());

it("lists recipients by room, missing ones first", async () => {
  const ann = await fixture.user("Ann", { zoneId: rooms["2 201"] });
  const ben = await fixture.user("Ben", { zoneId: rooms["2 201"] });
  const cid = await fixture.user("Cid", { zoneId: rooms["1 101"] });
  const dan = await fixture.user("Dan");
  const confirmationRequestId = (await fixture.create(confirmationRequests, { name: "?", options: ["Yes", "No"] })).id;
  const { id, pk } = await fixture.send({ subject: "?", userIds: [ann, ben, cid, dan], confirmationRequestId });
  await fixture.run(id);
  for (const userId of [ann, dan]) await recordAnswer(id, userId, "Yes", fixture.by, fixture.needs);
  const called = await rollCall(pk, fixture.store, { ...fixture.clock, defer: (fn) => setImmediate(fn) });
  expect(
    called.map(({ room, answered, people }) => [
      room?.name,
      answered,
      people.map(({ name, answer }) => [name, answer]),
    ]),
  ).toEqual([
    ["101", 0, [["Cid", null]]],
    [
      "201",
      1,
      [
        ["Ben", null],
        ["Ann", "Yes"],
      ],
    ],
    [undefined, 1, [["Dan", "Yes"]]],
  ]);
  const first = await rollCall(pk, fixture.store, { ...fixture.clock, defer: (fn) => setImmediate(fn) }, 1);
  expect(first.map(({ total, answered, people }) => [total, answered, people.map(({ name }) => name)])).toEqual([
    [1, 0, ["Cid"]],
    [2, 1, ["Ben"]],
    [1, 1, ["Dan"]],
  ]);
  expect(called[0]?.room).toMatchObject({ floorName: "1", buildingName: "A", siteName: "North" });
});

it("sorts more people than fit into one chunk", async () => {
  const { pk } = await fixture.send({ subject: "Many", userIds: [await fixture.user("Eva")] });
  await fixture.store.write((tx) => {
    tx.run(
      `INSERT INTO notification_recipients (id, created_at, updated_at, notification_pk, name, read, confirmation_response)
       WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 3499)
       SELECT uuid7(), 0, 0, ?, printf('P%04d', i * 7 % 3500), 0, iif(i % 5 = 0, 'Yes', NULL) FROM n`,
      pk,
    );
  });
  const [room] = await rollCall(pk, fixture.store, fixture.clock);
  const keys = room?.people.map(({ name, answer }) => `${answer === null ? 0 : 1} ${name}`) ?? [];
  expect(keys.length).toBe(room?.total);
  expect(room?.total).toBeGreaterThanOrEqual(3_500);
  expect(keys).toEqual([...keys].sort());
  const [bounded] = await rollCall(pk, fixture.store, fixture.clock, 1_700);
  expect(bounded).toEqual({ ...room, people: room?.people.slice(0, 1_700) });
});

it("finds the devices of a room by their row, or by the unique name of the room", async () => {
  await fixture.phone("SEP000000000001", { zoneId: rooms["1 Hall"] });
  await fixture.phone("SEP000000000002", { attributes: { Location: "201" } });
  await fixture.phone("SEP000000000003", { attributes: { Location: "Hall" } });
  const group = await fixture.group("All", ["SEP000000000001", "SEP000000000002", "SEP000000000003"]);
  const { id, pk } = await fixture.send({ subject: "x", deviceGroupIds: [group] });
  await fixture.run(id);
  const clock: Clock = { ...fixture.clock, defer: (fn) => setImmediate(fn) };
  const found = await devicesByRoom(pk, { reader: fixture.store, clock, sentences: createSentenceRegistry() });
  expect(found.unplaced).toBe(1);
  expect(found.rooms).toMatchObject([
    { room: { name: "Hall", floorName: "1" }, devices: [{ name: "The SEP000000000001", level: "planned" }] },
    { room: { name: "201", floorName: "2" }, devices: [{ name: "The SEP000000000002", level: "planned" }] },
  ]);
});
