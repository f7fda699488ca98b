import { crc32, deflateSync } from "node:zlib";

/** What rows are made through. */
export interface PlaceClient {
  post(path: string, body: object): Promise<{ id: string }>;
  put(path: string, body: object): Promise<unknown>;
}

const WIDTH = 480;
const HEIGHT = 320;
const PAPER = 255;
const WALL = 60;

/** A school with a plan of its ground floor, who plays a role there, inputs on the plan, an area around it with a trigger, and how it shows itself. Gives ids by name. */
export async function createSamplePlaces({ post, put }: PlaceClient): Promise<Record<string, string>> {
  const site = await post("/sites", { name: "North campus", externalId: "N", latitude: 47.4979, longitude: 9.7471 });
  await post("/sites", { name: "South campus", latitude: 47.41, longitude: 9.74 });
  const at = `/sites/${site.id}`;
  const building = await post(`${at}/buildings`, {
    name: "Main building",
    city: "Bregenz",
    addressLine1: "Lake road 1",
  });
  await post(`${at}/buildings`, { name: "Gym" });
  const floors = `${at}/buildings/${building.id}/floors`;
  const floor = await post(floors, { name: "Ground floor", type: "G", imageOrigins: PLAN_CORNERS });
  await post(floors, { name: "First floor" });
  const form = new FormData();
  form.append("floorPlanImage", new Blob([new Uint8Array(planPicture())], { type: "image/png" }), "ground.png");
  await put(`${floors}/${floor.id}`, form);
  const zone = await post(`${floors}/${floor.id}/zones`, { name: "Room 101", boundary: ROOM });
  await post(`${floors}/${floor.id}/zones`, { name: "Hall" });
  const role = await post("/site-roles", { name: "Response team" });
  const head = await post("/users", { name: "Greta Haller", email: "greta.haller@school.example" });
  await post(`${at}/recipients`, { siteRoleId: role.id, userIds: [head.id] });
  const place = { siteId: site.id, buildingId: building.id, floorId: floor.id };
  const pinned = { type: "Point", coordinates: [9.7474, 47.4978] };
  const button = await post("/api-devices", {
    name: "Button at the desk",
    externalId: "desk",
    pinnedLocation: pinned,
    ...place,
  });
  await post("/api-devices", { name: "Button in 101", externalId: "r101", zoneId: zone.id, ...place });
  await post("/api-devices", { name: "Badge reader", externalId: "badge", ...place });
  const area = await post("/areas-of-interest", {
    ...{ name: "School and yard", geometryType: "circle", geometryValue: circle([9.7471, 47.4979], 180) },
  });
  const trigger = await post(`/areas-of-interest/${area.id}/boundary-triggers`, {
    ...{ name: "Welcome", action: "entered", perUserThrottlingInSecs: 3_600 },
    ...{ notificationAction: "send-to-user", subject: "Welcome to the school" },
  });
  await post("/tts-lexicons", { language: "en-US", find: "PE", replace: "physical education" });
  const ids = { site, building, floor, zone, role, head, button, area, trigger };
  return Object.fromEntries(Object.entries(ids).map(([name, { id }]) => [name, id]));
}

/** Corners of the plan's ground: some 120 m by 80 m, its top to the north. */
const PLAN_CORNERS = [
  [9.7463, 47.49826],
  [9.7479, 47.49826],
  [9.7479, 47.49754],
  [9.7463, 47.49754],
];
/** The room at the top left, in parts of the plan. */
const ROOM = [
  [0.02, 0.03],
  [0.33, 0.03],
  [0.33, 0.45],
  [0.02, 0.45],
];

function circle(coordinates: readonly number[], radiusInM: number): object {
  return { type: "Feature", geometry: { type: "Point", coordinates }, properties: { radiusInM } };
}

/** A PNG of six rooms along a corridor. */
function planPicture(): Buffer {
  const isWall = (x: number, y: number): boolean =>
    [2, WIDTH / 3, (2 * WIDTH) / 3, WIDTH - 3].some((wall) => Math.abs(x - wall) < 2 && isRoom(y)) ||
    [2, HEIGHT * 0.45, HEIGHT * 0.58, HEIGHT - 3].some((wall) => Math.abs(y - wall) < 2 && !isDoor(x, y));
  const rows = Array.from({ length: HEIGHT }, (_, y) =>
    Buffer.from([0, ...Array.from({ length: WIDTH }, (_, x) => (isWall(x, y) ? WALL : PAPER))]),
  );
  const head = Buffer.alloc(13);
  head.writeUInt32BE(WIDTH, 0);
  head.writeUInt32BE(HEIGHT, 4);
  head.set([8, 0, 0, 0, 0], 8);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    chunk("IHDR", head),
    chunk("IDAT", deflateSync(Buffer.concat(rows))),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function isRoom(y: number): boolean {
  return y < HEIGHT * 0.45 || y > HEIGHT * 0.58;
}

function isDoor(x: number, y: number): boolean {
  return y > 10 && y < HEIGHT - 10 && x % (WIDTH / 3) > WIDTH / 7 && x % (WIDTH / 3) < WIDTH / 5;
}

/** @source PNG specification §5.3 */
function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}
