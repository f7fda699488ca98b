import { afterAll, beforeAll, expect, it } from "vitest";
import { recordAnswer } from "../../../src/broadcast/answers.ts";
import { devicesByRoom, rollCall } from "../../../src/broadcast/by-place.ts";
import confirmationRequests from "../../../src/resources/confirmations/confirmation-requests.ts";
import buildings from "../../../src/resources/places/buildings.ts";
import floors from "../../../src/resources/places/floors.ts";
import sites from "../../../src/resources/places/sites.ts";
import zones from "../../../src/resources/places/zones.ts";
import { type BroadcastFixture, openBroadcasts } from "./broadcast-fixture.ts";

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

it("calls the roll by room, whoever is missing first", async () => {
  const ann = await fixture.user("Ann", { zoneId: rooms["2 201"] });
  const ben = await fixture.user("Ben", { zoneId: rooms["2 201"] });
  const cid = await fixture.user("Cid", { zoneId: rooms["1 101"] });
  const dan = await fixture.user("Dan");
  const confirmationRequestId = (await fixture.create(confirmationRequests, { name: "?", options: ["Yes", "No"] })).id;
  const { id, pk } = await fixture.send({ subject: "?", userIds: [ann, ben, cid, dan], confirmationRequestId });
  await fixture.run(id);
  for (const userId of [ann, dan]) await recordAnswer(id, userId, "Yes", fixture.by, fixture.needs);
  const called = await rollCall(pk, fixture.store, { ...fixture.clock, soon: (fn) => setImmediate(fn) });
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
  expect(called[0]?.room).toMatchObject({ floorName: "1", buildingName: "A", siteName: "North" });
});

it("finds the devices of a room by their row, or by the name of the only room that bears it", async () => {
  await fixture.phone("SEP000000000001", { zoneId: rooms["1 Hall"] });
  await fixture.phone("SEP000000000002", { attributes: { Location: "201" } });
  await fixture.phone("SEP000000000003", { attributes: { Location: "Hall" } });
  const group = await fixture.group("All", ["SEP000000000001", "SEP000000000002", "SEP000000000003"]);
  const { id, pk } = await fixture.send({ subject: "x", deviceGroupIds: [group] });
  await fixture.run(id);
  const found = await devicesByRoom(pk, fixture.store, { ...fixture.clock, soon: (fn) => setImmediate(fn) });
  expect(found.unplaced).toBe(1);
  expect(found.rooms).toMatchObject([
    { room: { name: "Hall", floorName: "1" }, devices: [{ name: "The SEP000000000001", level: "planned" }] },
    { room: { name: "201", floorName: "2" }, devices: [{ name: "The SEP000000000002", level: "planned" }] },
  ]);
});
