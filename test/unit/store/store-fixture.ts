import { systemClock } from "../../../src/lib/clock.ts";
import { createEvents } from "../../../src/lib/events.ts";
import { silentLog } from "../../../src/lib/log.ts";
import { createCatalogue } from "../../../src/schema/catalogue.ts";
import {
  boolean,
  computed,
  file,
  integer,
  internal,
  json,
  list,
  many,
  object,
  option,
  ref,
  secret,
  text,
  timestamp,
} from "../../../src/schema/field.ts";
import { type AnyResource, defineResource } from "../../../src/schema/resource.ts";
import { fullScope } from "../../../src/store/full-scope.ts";
import { openStore } from "../../../src/store/open-store.ts";
import type { ActorContext, ResourceHooks, Store } from "../../../src/store/store.ts";

/** Somebody who may do and see everything. */
export const everybody: ActorContext = {
  actor: { kind: "system", userId: null, name: "test", address: null },
  scope: fullScope(() => null),
};

export const rooms = defineResource({
  name: "rooms",
  doc: "Rooms.",
  paths: [{ at: "rooms" }],
  idParam: "roomId",
  scope: "organisation",
  replicate: "local",
  limit: { most: 1_000 },
  fields: {
    name: text("Name.", { required: true, max: 20, unique: true }),
    seats: integer("Seats.", { max: 500, default: 1 }),
    open: boolean("Open."),
    since: timestamp("Since."),
    kind: option("Kind.", ["lab", "hall"]),
    tags: list("Tags.", text("Tag.", { max: 5 })),
    place: object("Place.", { floor: integer("Floor."), wing: text("Wing.") }),
    notes: json("Notes."),
    plan: file("Plan.", ["image/png"]),
    pin: secret("Pin."),
    marker: internal("Marker.", "text"),
    label: computed("Label.", "text"),
    keeperId: ref("Keeper.", "keepers", { embed: "keeper" }),
    ghostId: ref("Nobody declared these.", "ghosts"),
  },
});

export const keepers = defineResource({
  name: "keepers",
  doc: "Keepers.",
  paths: [{ at: "keepers" }],
  idParam: "keeperId",
  scope: "organisation",
  replicate: "local",
  fields: { name: text("Name.", { required: true }), roomIds: many("Rooms.", "rooms") },
});

export const keys = defineResource({
  name: "keys",
  doc: "Keys of a room.",
  paths: [{ at: "rooms/{roomId}/keys" }],
  idParam: "keyId",
  scope: "parent",
  replicate: "local",
  limit: { most: 3, per: "roomId" },
  fields: {
    roomId: ref("Room.", "rooms", { required: true, createOnly: true, onDelete: "cascade" }),
    code: text("Code."),
  },
});

export function openTestStore(
  dataDir: string,
  hooks: Record<string, ResourceHooks> = {},
  declarations: readonly AnyResource[] = [rooms, keepers, keys],
): Store {
  return openStore({
    dataDir,
    catalogue: createCatalogue(declarations),
    hooks,
    clock: systemClock,
    events: createEvents((error) => {
      throw error;
    }),
    log: silentLog,
    onFatal: (error) => {
      throw error;
    },
  });
}
