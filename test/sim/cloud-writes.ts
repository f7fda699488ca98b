import type { StoredFile } from "../../src/schema/field.ts";
import type { RowPublication } from "../../src/sync/hub/publish.ts";
import type { CloudMachine } from "./cloud-machine.ts";
import type { MemoryBlobStore } from "./memory-blob-store.ts";
import type { RandomSource } from "./seeded-random.ts";

const PARTS = ["north", "south"];

/** A change as the cloud's administrators make them: what depends on a deleted row goes with it. */
export function cloudWrite(cloud: CloudMachine, dice: RandomSource, at: number): RowPublication[] {
  const type = dice.pick(["rooms", "people", "lists", "lists"]);
  const rows = cloud.liveRows(type);
  const old = rows.length > 0 && dice.happens(rows.length > 6 ? 0.9 : 0.5) ? dice.pick(rows) : null;
  const id = old?.id ?? dice.id();
  if (old && dice.happens(0.35)) return removal(cloud, type, id, at);
  const body = { ...old?.body, id, note: `n${dice.below(1e6)}` };
  if (type === "people") return [{ type, id, body, scope: null, at }];
  if (type === "rooms") return [{ type, id, body: { ...body, name: freeName(cloud, dice, id) }, scope: null, at }];
  const rooms = cloud.liveRows("rooms");
  const members = cloud.liveRows("people").filter(() => dice.happens(0.4));
  const scope = old && dice.happens(0.7) ? old.scope : dice.happens(0.5) ? dice.pick(PARTS) : null;
  const more = {
    word: dice.happens(0.5) ? `w${dice.below(9)}` : null,
    roomId: rooms.length > 0 && dice.happens(0.8) ? dice.pick(rooms).id : null,
    personIds: members.map((person) => person.id),
    sound: dice.happens(0.2) ? storedFile(cloud.blobs, dice) : (old?.body.sound ?? null),
  };
  return [{ type, id, body: { ...body, ...more }, scope, at }];
}

/** A new file, as rows hold it. */
export function storedFile(blobs: MemoryBlobStore, dice: RandomSource): StoredFile {
  const bytes = Buffer.from(dice.id().repeat(1 + dice.below(3)));
  const of = { fileName: "a.bin", contentType: "application/octet-stream", metadata: {} };
  return { sha256: blobs.add(bytes), size: bytes.length, ...of };
}

/** Names are few, so that they are given from one to the other. */
function freeName(cloud: CloudMachine, dice: RandomSource, id: string): string {
  const taken = new Set(cloud.liveRows("rooms").flatMap((room) => (room.id === id ? [] : [String(room.body.name)])));
  const free = Array.from({ length: 12 }, (_, at) => `Room ${at}`).filter((name) => !taken.has(name));
  return free.length > 0 ? dice.pick(free) : id;
}

function removal(cloud: CloudMachine, type: string, id: string, at: number): RowPublication[] {
  const lists = type === "lists" ? [] : cloud.liveRows("lists");
  const dependants = lists.flatMap(({ id: list, body, scope }): RowPublication[] => {
    if (type === "rooms" && body.roomId === id) return [{ type: "lists", id: list, body: null, scope, at }];
    const members = (body.personIds ?? []) as string[];
    if (type !== "people" || !members.includes(id)) return [];
    const personIds = members.filter((member) => member !== id);
    return [{ type: "lists", id: list, body: { ...body, personIds }, scope, at }];
  });
  return [...dependants, { type, id, body: null, scope: null, at }];
}
